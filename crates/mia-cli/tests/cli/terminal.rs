//! A terminal with `mia` in it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mia_testkit::proc::{Process, block_until};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::daemon::SOON;
use crate::person::Person;

/// What was written to a terminal.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    /// The other end is closed.
    over: bool,
}

/// A terminal of its own, with a shell-less `mia` in its foreground.
pub(crate) struct Terminal {
    keyboard: File,
    child: Child,
    written: Arc<Mutex<Written>>,
    size: (u16, u16),
}

/// How a terminal is set up.
pub(crate) struct Setting<'a> {
    pub(crate) rows: u16,
    pub(crate) columns: u16,
    /// Variables beside those of the person; `TERM` is xterm-256color.
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// Where stdout goes, if not to the terminal.
    pub(crate) stdout: Option<Stdio>,
}

impl Default for Setting<'_> {
    fn default() -> Self {
        Self { rows: 24, columns: 80, env: &[], stdout: None }
    }
}

impl Terminal {
    pub(crate) fn start(person: &Person, args: &[&str]) -> Self {
        Self::with(person, args, Setting::default())
    }

    pub(crate) fn with(person: &Person, args: &[&str], setting: Setting<'_>) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size =
            Winsize { ws_row: setting.rows, ws_col: setting.columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let line: File = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap().into();
        // A fresh child leads no group, so `setsid` becomes `mia` itself: the pid is the same.
        let mut command = Command::new("/usr/bin/setsid");
        command.arg("--ctty").arg(env!("CARGO_BIN_EXE_mia")).args(args);
        person.surround(&mut command);
        command.env("TERM", "xterm-256color").envs(setting.env.iter().copied());
        command.stdin(line.try_clone().unwrap()).stderr(line.try_clone().unwrap());
        command.stdout(setting.stdout.unwrap_or_else(|| line.into()));
        let child = command.spawn().unwrap();
        drop(command);
        let keyboard = File::from(master);
        let written = Arc::new(Mutex::new(Written::default()));
        let (mut screen, kept) = (keyboard.try_clone().unwrap(), Arc::clone(&written));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error means that nobody has the terminal open any more.
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                kept.lock().unwrap().bytes.extend_from_slice(&buffer[..count]);
            }
            kept.lock().unwrap().over = true;
        });
        Self { keyboard, child, written, size: (setting.rows, setting.columns) }
    }

    pub(crate) fn process(&self) -> Process {
        Process::of(self.child.id()).unwrap()
    }

    /// Everything that was written to it.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap().bytes).into_owned()
    }

    /// What a person sees now, without blanks at the ends of lines and below.
    pub(crate) fn screen(&self) -> String {
        let (rows, columns) = self.size;
        let [rows, columns] = [rows, columns].map(|size| size.try_into().unwrap());
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&self.written.lock().unwrap().bytes);
        let text = parser.screen().contents();
        let lines: Vec<_> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }

    /// Waits until a person sees that.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        let until = std::time::Instant::now() + SOON;
        while !self.screen().contains(text) {
            assert!(std::time::Instant::now() < until, "no {text:?} on:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end: the status, and what is left on the screen.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        block_until("the terminal to be closed", SOON, || {
            self.written.lock().unwrap().over.then_some(())
        });
        (status.code(), self.screen())
    }
}
