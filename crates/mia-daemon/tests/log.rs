//! What the daemon's log has to tell, however bad things are.

use std::fs;

use mia_daemon::log;

#[test]
fn a_panic_of_any_thread_is_one_line_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/daemon.log");
    log::to_file(&path).unwrap();
    let here = line!() + 3;
    std::thread::Builder::new()
        .name("worker".to_owned())
        .spawn(|| panic!("it went wrong\n2026-01-01T00:00:00Z  INFO all is well\u{1b}[2J"))
        .unwrap()
        .join()
        .unwrap_err();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let place = format!("tests/log.rs:{here}:");
    for part in ["ERROR a panic in ", &place, ", thread worker: it went wrong\\n2026-"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(!text.contains('\u{1b}'));
}
