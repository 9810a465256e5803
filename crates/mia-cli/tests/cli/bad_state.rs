//! Files of Mia that can't be used: what is told, and that nobody is asked then.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::block_until;
use pretty_assertions::assert_eq;
use sqlx::{ConnectOptions, Connection};

use crate::claude::answer;
use crate::person::{Person, Ran};

/// A person with an agent that tells when it was asked.
fn person() -> (Person, FakeCli) {
    let person = Person::new();
    let claude = person.claude(&format!("touch asked\n{}", answer("yes")));
    (person, claude)
}

#[track_caller]
fn refused(person: &Person, claude: &FakeCli, code: i32, says: &[&str]) {
    person.run(&["ask", "do it"]).code(code).says(&["error: "]).says(says);
    assert!(!claude.beside("asked").exists(), "nobody must be asked");
}

#[test]
fn a_broken_configuration_is_told_by_its_place() {
    let (person, claude) = person();
    person.configure("plugins:\n  claude-code:\n    stal_timeout: 2m\n");
    let place = format!("{}/config.yaml:3:5: ", person.mia_home().display());
    refused(&person, &claude, 2, &[&place, "did you mean \"stall_timeout\"?"]);
    person.configure("limits: {concurrent: 8\n");
    refused(&person, &claude, 2, &["config.yaml:"]);
}

#[test]
fn a_good_configuration_is_never_replaced_by_a_bad_one() {
    let (person, _claude) = person();
    let good = "limits:\n  concurrent: 3 # of mine\n";
    person.configure(good);
    let config = person.mia_home().join("config.yaml");
    person.run(&["config", "set", "limits.concurrent", "many"]).code(2).says(&["doesn't fit"]);
    person
        .run(&["config", "set", "limits.concurent", "4"])
        .code(2)
        .says(&["did you mean \"concurrent\"?"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), good);
    let bad = "limits:\n  concurent: 3\n";
    person.configure(bad);
    let ran = person.run(&["config", "set", "limits.queue", "4"]).code(2);
    ran.says(&["fix them first", "config.yaml:2:3"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), bad);
}

#[test]
fn no_home_at_all_is_told() {
    let (person, claude) = person();
    // An account that the system does not know has no home.
    let mut setpriv = Command::new("/usr/bin/setpriv");
    setpriv.args(["--reuid=54321", "--regid=54321", "--clear-groups", env!("CARGO_BIN_EXE_mia")]);
    person.surround(setpriv.args(["config", "get", "limits"]));
    setpriv.env_remove("HOME").env_remove("MIA_HOME").current_dir("/");
    if !is_root() || !Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: becoming an unknown user needs root and setpriv");
        return;
    }
    let ran = Ran::from(setpriv.output().unwrap());
    if ran.code == Some(127) {
        println!("skipped: an unknown user may not reach the binary");
        return;
    }
    ran.code(2).says(&["there is no home", "set HOME or MIA_HOME"]);
    drop(claude);
}

#[test]
fn without_home_the_account_tells_it() {
    let (person, _claude) = person();
    let mut mia = person.mia(&["config", "get", "limits.concurrent"]);
    let ran = Ran::from(mia.env_remove("HOME").env_remove("MIA_HOME").output().unwrap());
    assert_eq!(ran.code(0).out, "8\n");
}

#[test]
fn xdg_folders_are_used_and_made_when_needed() {
    let (person, _claude) = person();
    let mut mia = person.mia(&["ask", "do it"]);
    Ran::from(mia.env_remove("MIA_HOME").output().unwrap()).code(0);
    let home = person.folder().join("home");
    assert!(home.join(".local/state/mia/mia.db").is_file());
    assert!(!home.join(".config").exists(), "nothing is made that is not needed");
}

#[test]
fn a_mia_home_that_is_a_file_is_told() {
    let (person, claude) = person();
    fs::remove_dir(person.mia_home()).unwrap();
    fs::write(person.mia_home(), "precious").unwrap();
    refused(&person, &claude, 2, &["it is not a folder", "set MIA_HOME"]);
    assert_eq!(fs::read_to_string(person.mia_home()).unwrap(), "precious");
}

#[test]
fn what_is_no_database_is_left_alone() {
    let (person, claude) = person();
    fs::write(person.database(), "precious text, and no database at all").unwrap();
    refused(&person, &claude, 3, &["mia.db", "it was not changed", "move it aside"]);
    assert_eq!(
        fs::read_to_string(person.database()).unwrap(),
        "precious text, and no database at all"
    );
    person.run(&["log"]).code(3).says(&["move it aside"]);
}

#[test]
fn a_damaged_database_is_told_and_left_alone() {
    let (person, claude) = person();
    person.run(&["--no-daemon", "ask", "do it"]).code(0);
    fs::remove_file(claude.beside("asked")).unwrap();
    let mut bytes = fs::read(person.database()).unwrap();
    let end = bytes.len();
    // The header stays as it is.
    bytes[200..end].fill(0xa5);
    fs::write(person.database(), &bytes).unwrap();
    refused(&person, &claude, 3, &["mia.db", "it was not changed"]);
    assert_eq!(fs::read(person.database()).unwrap(), bytes);
}

#[test]
fn a_database_of_a_newer_mia_is_told_and_left_alone() {
    let (person, claude) = person();
    person.run(&["--no-daemon", "ask", "do it"]).code(0);
    fs::remove_file(claude.beside("asked")).unwrap();
    let mut bytes = fs::read(person.database()).unwrap();
    // `user_version` of the header (https://www.sqlite.org/fileformat.html), and the same in the
    // first page as the program reads it.
    bytes[60..64].copy_from_slice(&999_u32.to_be_bytes());
    fs::write(person.database(), &bytes).unwrap();
    refused(&person, &claude, 3, &["newer mia", "update mia"]);
    assert_eq!(fs::read(person.database()).unwrap(), bytes);
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A read-only mount of the folder, or none where that can't be had; unmounted when dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn try_mount(folder: &'a Path, args: &[&str]) -> Option<Self> {
        let mount = Command::new("/usr/bin/mount").args(args).arg(folder).output().ok()?;
        if !mount.status.success() {
            println!("skipped: no mount: {}", String::from_utf8_lossy(&mount.stderr));
            return None;
        }
        Some(Self(folder))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("/usr/bin/umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn with_a_full_disk_nobody_is_asked() {
    let (person, claude) = person();
    let home = person.mia_home();
    let size = ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"];
    let Some(_mounted) = Mounted::try_mount(&home, &size) else {
        return;
    };
    let _ = fs::write(home.join("filler"), vec![0; 2 << 20]);
    refused(&person, &claude, 3, &["no space is left for", "mia.db", "free some"]);
    fs::remove_file(home.join("filler")).unwrap();
    person.run(&["ask", "do it"]).code(0);
}

#[test]
fn m_070_a_daemon_that_can_only_read_shows_and_refuses_and_writes_again_once_it_can() {
    let (person, claude) = person();
    let home = person.mia_home();
    let size = ["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs"];
    let Some(_mounted) = Mounted::try_mount(&home, &size) else {
        return;
    };
    person.run(&["ask", "do it"]).code(0);
    person.run(&["stop"]).code(0);
    fs::remove_file(claude.beside("asked")).unwrap();
    let _ = fs::write(home.join("filler"), vec![0; 4 << 20]);
    assert_eq!(person.log()[0]["prompt"], "do it", "what there is can be seen");
    refused(&person, &claude, 3, &["no space is left"]);
    let status = person.run(&["status"]).code(0).out;
    assert!(status.contains("nothing can be put on record: "), "{status}");
    let pid = |person: &Person| {
        let told = person.run(&["status", "--json"]).code(0).out;
        serde_json::from_str::<serde_json::Value>(&told).unwrap()["pid"].clone()
    };
    let daemon = pid(&person);
    person.run(&["doctor"]).code(1);
    fs::remove_file(home.join("filler")).unwrap();
    block_until("it to try again", Duration::from_secs(20), || {
        let status = person.run(&["status"]).out;
        (!status.contains("nothing can be put on record")).then_some(())
    });
    person.run(&["ask", "again"]).code(0);
    assert_eq!(pid(&person), daemon, "it stayed up");
}

#[test]
fn with_a_read_only_disk_nobody_is_asked() {
    let (person, claude) = person();
    let home = person.mia_home();
    let Some(_mounted) = Mounted::try_mount(&home, &["-t", "tmpfs", "-o", "ro", "tmpfs"]) else {
        return;
    };
    refused(&person, &claude, 3, &["daemon.lock", "Read-only file system"]);
    person.run(&["config", "set", "limits.queue", "4"]).code(2).says(&["config.yaml"]);
    person.run(&["config", "get", "limits.queue"]).code(0);
}

#[test]
fn with_a_read_only_folder_nobody_is_asked() {
    let (person, claude) = person();
    if is_root() {
        println!("skipped: root may write everywhere");
        return;
    }
    fs::set_permissions(person.mia_home(), fs::Permissions::from_mode(0o500)).unwrap();
    refused(&person, &claude, 3, &["mia.db"]);
}

#[test]
fn a_locked_database_is_told_and_nobody_is_asked() {
    let (person, claude) = person();
    person.run(&["ask", "do it"]).code(0);
    fs::remove_file(claude.beside("asked")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(person.database());
    let mut other = runtime.block_on(options.connect()).unwrap();
    let locked = runtime.block_on(other.begin_with("BEGIN IMMEDIATE")).unwrap();
    refused(&person, &claude, 3, &["mia.db", "is locked by another process", "try again"]);
    person.run(&["log"]).code(0);
    runtime.block_on(locked.rollback()).unwrap();
    person.run(&["ask", "do it"]).code(0);
}
