//! The lines of the daemon and its clients.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::child::{self, Script};
use super::daemon::Home;
use super::measure::{Run, run_beside};
use super::pairs::{Figure, Pairs, Setting, expect, figure, repeated};
use super::row::{Row, Target};
use crate::Failure;

const KIB: f64 = 1024.0;

/// An answer of so many deltas, and how many bytes of text that is.
fn answer(setting: &Setting<'_>, name: &str, deltas: usize) -> Result<(Script, usize), Failure> {
    let (lines, bytes) = child::deltas(deltas);
    let mut steps = vec!["read-line".to_owned(), child::init()];
    steps.extend(lines);
    steps.push(child::result());
    Ok((Script::write(setting.folder, name, &steps)?, deltas * bytes))
}

fn wall_ms(run: &Run) -> Result<f64, Failure> {
    Ok(run.wall.as_secs_f64() * 1e3)
}

/// 200,000 text deltas from the agent through the daemon to a client that writes them to /dev/null.
pub(super) fn end_to_end(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const LINES: usize = 200_000;
    let (script, text_bytes) = answer(setting, "stream", LINES)?;
    let home = Home::new(setting, "home", &script)?;
    let daemon = home.start()?;
    let whole = daemon.client(&mut home.ask())?;
    // `mia ask` ends a line that the agent left open.
    if whole.stdout.trim_end().len() != text_bytes {
        return Err(format!("mia ask wrote {} bytes", whole.stdout.len()).into());
    }
    let mut peaks = Vec::new();
    let pairs = setting.pairs(
        || {
            daemon.forget_peak()?;
            let run = daemon.client(home.ask().stdout(Stdio::null()))?;
            peaks.push(daemon.peak_kib()? / KIB);
            Ok(run)
        },
        || {
            let mut scan = script.command(&setting.programs.bench()?);
            scan.arg("scan").arg(setting.programs.fakecli()?);
            run_beside(scan.stdout(Stdio::piped()), "")
        },
    )?;
    let lines = LINES as f64;
    let what = format!("200,000 deltas of {} B, daemon → mia ask > /dev/null", child::LINE);
    Ok(vec![
        pairs.row("end-to-end", what, "/s").of(
            |run| match run.figures() {
                // The reference tells its time without its own start.
                Ok(_) => Ok(lines / figure(run, "wall_us")? * 1e6),
                Err(_) => Ok(lines / run.wall.as_secs_f64()),
            },
            &Figure::Ratio,
            Target::AtLeast(0.03),
        )?,
        told("end-to-end", "peak memory of the daemon meanwhile", "MiB", peaks, Target::None),
    ])
}

/// `mia ask` beside the agent itself, with the daemon up, and with none running.
pub(super) fn ask(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    let (script, text_bytes) = answer(setting, "ask-daemon", 1)?;
    let agent = setting.programs.fakecli()?;
    let said = |run: Run| match run.stdout.trim_end().len() == text_bytes {
        true => Ok(run),
        false => Err(Failure::from(format!("mia ask said {:?}", run.stdout))),
    };
    let reference = || {
        let mut agent = script.command(&agent);
        run_beside(agent.stdout(Stdio::piped()), "{}\n")
    };
    let home = Home::new(setting, "up", &script)?;
    let daemon = home.start()?;
    said(daemon.client(&mut home.ask())?)?;
    let up = repeated(setting, 10, || Ok((said(daemon.client(&mut home.ask())?)?, reference()?)))?;
    home.stop()?;
    let cold = repeated(setting, 10, || {
        let ours = said(run_beside(&mut home.ask(), "")?)?;
        home.stop()?;
        Ok((ours, reference()?))
    })?;
    let mut homes = 0;
    let first = repeated(setting, 10, || {
        homes += 1;
        let home = Home::new(setting, &format!("first-{homes}"), &script)?;
        let ours = said(run_beside(&mut home.ask(), "")?)?;
        home.stop()?;
        Ok((ours, reference()?))
    })?;
    let row = |pairs: &Pairs, what: &str, most: f64| {
        pairs.row("ask-daemon", what, "ms").of(wall_ms, &Figure::Difference, Target::AtMost(most))
    };
    Ok(vec![
        row(&up, "mia ask, the daemon up", 10.0)?,
        row(&cold, "mia ask, no daemon yet", 40.0)?,
        row(&first, "mia ask, no daemon yet, first ever", 40.0)?,
    ])
}

/// What a daemon holds that has nothing to do.
pub(super) fn idle(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    let (script, _) = answer(setting, "idle", 1000)?;
    let mut fresh = Vec::new();
    let mut used = Vec::new();
    let mut own = Vec::new();
    for number in 0..setting.runs {
        let home = Home::new(setting, &format!("home-{number}"), &script)?;
        let daemon = home.start()?;
        fresh.push(settled(|| daemon.resident_kib())? / KIB);
        for _ in 0..20 {
            run_beside(&mut home.ask(), "")?;
        }
        used.push(settled(|| daemon.resident_kib())? / KIB);
        own.push(daemon.own_kib()? / KIB);
    }
    let target = Target::AtMost(16.0);
    let what = "memory of daemon and supervisor";
    Ok(vec![
        told("idle", format!("{what}, just started"), "MiB", fresh, target),
        told("idle", format!("{what}, after 20 prompts"), "MiB", used, target),
        told("idle", "of that, what is no page of a file", "MiB", own, Target::None),
    ])
}

/// A figure that has not changed for half a second.
fn settled(mut figure: impl FnMut() -> Result<f64, Failure>) -> Result<f64, Failure> {
    let mut before = figure()?;
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = figure()?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
}

/// `mia log` over many records, beside the same over few.
pub(super) fn log(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const MANY: &str = "100000";
    let (script, _) = answer(setting, "log", 1)?;
    let few = Home::new(setting, "few", &script)?;
    let many = Home::new(setting, "many", &script)?;
    for (home, count) in [(&few, "100"), (&many, MANY)] {
        let mut fill = script.command(&setting.programs.bench()?);
        fill.arg("fill").arg(home.database()).arg(count).stdout(Stdio::piped());
        run_beside(&mut fill, "")?;
    }
    let mut rows = Vec::new();
    for (what, args, most) in [
        ("mia log, the daemon up", &["log"][..], Some(50.0)),
        ("mia --no-daemon log", &["--no-daemon", "log"][..], Some(50.0)),
        ("mia log --failed", &["log", "--failed"][..], Some(50.0)),
        ("mia log --plugin rare", &["log", "--plugin", "rare"][..], Some(50.0)),
        ("mia log --grep, no hit", &["log", "--grep", "no such words"][..], None),
        ("mia usage", &["usage"][..], None),
    ] {
        let there = [few.start()?, many.start()?];
        let [daemon_of_few, daemon] = &there;
        let pairs = repeated(setting, 10, || {
            let ours = daemon.client(&mut many.mia(args))?;
            if ours.stdout.is_empty() {
                return Err(format!("{what} says nothing").into());
            }
            Ok((ours, daemon_of_few.client(&mut few.mia(args))?))
        })?;
        let what = format!("{what}, 100,000 tasks on record (reference: 100)");
        let target = most.map_or(Target::None, Target::AtMost);
        rows.push(pairs.row("log", what, "ms").of(wall_ms, &Figure::Ours, target)?);
    }
    Ok(rows)
}

/// 1,000 who watch one task.
pub(super) fn watchers(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const COUNT: &str = "1000";
    let mut pairs = Pairs { ours: Vec::new(), reference: Vec::new() };
    for number in 0..setting.runs {
        let gate = setting.folder.join(format!("gate-{number}"));
        let (deltas, bytes) = child::deltas(1);
        let mut steps = vec!["read-line".to_owned(), child::init()];
        steps.extend(deltas.iter().cloned());
        steps.push(format!("wait-file {}", gate.display()));
        steps.extend(deltas.into_iter().skip(1));
        steps.push(child::result());
        let script = Script::write(setting.folder, &format!("watched-{number}"), &steps)?;
        let home = Home::new(setting, &format!("home-{number}"), &script)?;
        let daemon = home.start()?;
        let mut ask = home.mia(&["ask", "--plugin", "claude-code", "--detach", "--task", "t", "x"]);
        run_beside(&mut ask, "")?;
        let mut watch = script.command(&setting.programs.bench()?);
        watch.arg("watchers").arg(&daemon.socket).args(["t", COUNT, &daemon.pid.to_string()]);
        let watched = run_beside(watch.arg(&gate).stdout(Stdio::piped()), "")?;
        expect(&watched, "same", true)?;
        expect(&watched, "text_bytes", bytes * 2)?;
        fs::remove_file(&gate)?;
        pairs.ours.push(watched);
    }
    let open = |run: &Run| Ok((figure(run, "open_kib")? - figure(run, "idle_kib")?) / KIB);
    let of_each = |run: &Run| Ok((figure(run, "peak_kib")? - figure(run, "idle_kib")?) / KIB);
    let each = |value: &dyn Fn(&Run) -> Result<f64, Failure>| {
        pairs.ours.iter().map(value).collect::<Result<Vec<_>, Failure>>()
    };
    let what = "memory of the daemon over idle";
    let target = Target::AtMost(40.0);
    Ok(vec![
        told("watchers", format!("{what}, 1,000 watchers open"), "MiB", each(&open)?, target),
        told(
            "watchers",
            format!("{what}, the most until they had all"),
            "MiB",
            each(&of_each)?,
            target,
        ),
    ])
}

/// A row of figures that have no reference: they are told by the system, and do not depend on how
/// fast the machine is.
fn told(
    line: &'static str,
    what: impl Into<String>,
    unit: &'static str,
    runs: Vec<f64>,
    target: Target,
) -> Row {
    let ours = super::pairs::median(runs.clone());
    let what = what.into();
    Row {
        line,
        what,
        unit,
        ours,
        reference: None,
        figure: ours,
        figure_is: "ours",
        target,
        cpu: None,
        wall: None,
        runs,
    }
}
