//! Where files are: `MIA_HOME`, XDG, no home at all.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use mia_config::{Paths, PathsError, Surroundings};
use pretty_assertions::assert_eq;

/// Discovers with these variables, the working directory `/work-dir`, and no account.
fn discover(vars: &[(&str, &str)]) -> Result<Paths, PathsError> {
    discover_as(vars, None)
}

fn discover_as(vars: &[(&str, &str)], account: Option<&str>) -> Result<Paths, PathsError> {
    Paths::discover(&Surroundings {
        var: &|name| {
            vars.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        },
        cwd: &|| Ok(PathBuf::from("/work-dir")),
        account_home: &|| account.map(PathBuf::from),
    })
}

#[test]
fn mia_home_holds_everything() {
    let paths = discover(&[("MIA_HOME", "/m"), ("HOME", "/home/a"), ("XDG_STATE_HOME", "/s")]);
    let at = |name: &str| Path::new("/m").join(name);
    let expected = Paths {
        config_dir: "/m".into(),
        config_file: at("config.yaml"),
        plugins_dir: at("plugins"),
        key_file: at("key"),
        state_dir: "/m".into(),
        database: at("mia.db"),
        runs_dir: at("runs"),
        logs_dir: at("logs"),
        agents_dir: at("agents"),
        socket: at("daemon.sock"),
        home: Some("/home/a".into()),
    };
    assert_eq!(paths.unwrap(), expected);
}

#[test]
fn xdg_with_and_without_its_variables() {
    let runtime = tempfile::tempdir().unwrap();
    let runtime_text = runtime.path().to_str().unwrap();
    let paths = discover(&[("HOME", "/home/a")]).unwrap();
    assert_eq!(paths.config_file, Path::new("/home/a/.config/mia/config.yaml"));
    assert_eq!(paths.key_file, Path::new("/home/a/.config/mia/key"));
    assert_eq!(paths.database, Path::new("/home/a/.local/state/mia/mia.db"));
    assert_eq!(paths.socket, Path::new("/home/a/.local/state/mia/daemon.sock"));

    let set =
        [("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s"), ("XDG_RUNTIME_DIR", runtime_text)];
    let paths = discover(&set).unwrap();
    assert_eq!(paths.plugins_dir, Path::new("/c/mia/plugins"));
    assert_eq!(paths.runs_dir, Path::new("/s/mia/runs"));
    assert_eq!(paths.socket, runtime.path().join("mia/daemon.sock"));
    assert_eq!(paths.home, None);
}

#[test]
fn empty_and_relative_variables_are_ignored() {
    let paths = discover(&[
        ("HOME", "/home/a"),
        ("MIA_HOME", ""),
        ("XDG_CONFIG_HOME", "relative"),
        ("XDG_STATE_HOME", ""),
        ("XDG_RUNTIME_DIR", "/nowhere/at/all"),
    ]);
    assert_eq!(paths.unwrap(), discover(&[("HOME", "/home/a")]).unwrap());
}

#[test]
fn without_home_the_account_says() {
    for home in [None, Some(""), Some("relative")] {
        let vars: Vec<_> = home.map(|home| ("HOME", home)).into_iter().collect();
        let paths = discover_as(&vars, Some("/home/b")).unwrap();
        assert_eq!(paths.config_dir, Path::new("/home/b/.config/mia"));
        let error = discover(&vars).unwrap_err().to_string();
        assert!(error.contains("set HOME or MIA_HOME"), "{error}");
    }
    assert!(discover(&[("MIA_HOME", "/m")]).is_ok(), "needs no home");
}

#[test]
fn odd_mia_homes() {
    let paths = discover(&[("MIA_HOME", "sub/dir")]).unwrap();
    assert_eq!(paths.database, Path::new("/work-dir/sub/dir/mia.db"));
    assert!(matches!(discover(&[("MIA_HOME", "~/mia")]), Err(PathsError::Tilde(_))));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = discover(&[("MIA_HOME", path.to_str().unwrap())]).unwrap_err();
        assert!(matches!(error, PathsError::NotAFolder(_)), "{error}");
        assert!(error.to_string().contains("is not a folder"));
    }
}

#[test]
fn a_long_path_gets_a_short_socket() {
    let long = format!("/{}", "x".repeat(94));
    // 95 + "/daemon.sock" is 107, which just fits.
    let fits = discover(&[("MIA_HOME", &long)]).unwrap();
    assert_eq!(fits.socket, Path::new(&long).join("daemon.sock"));
    let longer = discover(&[("MIA_HOME", &format!("{long}x"))]).unwrap();
    assert!(longer.socket.as_os_str().len() < 80, "{:?}", longer.socket);
    assert!(longer.socket.starts_with("/tmp"));
    let other = discover(&[("MIA_HOME", &format!("{long}y"))]).unwrap();
    assert_ne!(longer.socket, other.socket);
    let again = discover(&[("MIA_HOME", &format!("{long}x"))]).unwrap();
    assert_eq!(longer.socket, again.socket);
}

#[test]
fn folders_are_made_late_and_private() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("a/b");
    let paths = discover(&[("HOME", home.to_str().unwrap())]).unwrap();
    assert!(!home.exists(), "finding creates nothing");
    for _ in 0..2 {
        paths.ensure_state().unwrap();
        paths.ensure_config().unwrap();
        paths.ensure_socket_dir().unwrap();
    }
    for made in [&paths.state_dir, &paths.config_dir, &home] {
        let mode = fs::metadata(made).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{made:?}");
    }
}

#[test]
fn a_file_in_the_way_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = discover(&[("HOME", folder.path().to_str().unwrap())]).unwrap();
    fs::write(folder.path().join(".local"), "").unwrap();
    let error = paths.ensure_state().unwrap_err().to_string();
    assert!(error.contains(".local/state/mia") && error.contains("not a folder"), "{error}");
}

#[test]
fn a_socket_folder_that_others_may_write_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let link = folder.path().join("link");
    symlink(&open, &link).unwrap();
    for home in [&open, &link] {
        let paths = discover(&[("MIA_HOME", home.to_str().unwrap())]).unwrap();
        let refused = paths.ensure_socket_dir();
        assert!(matches!(refused, Err(PathsError::NotPrivate(_))), "{home:?}: {refused:?}");
    }
    fs::set_permissions(&open, fs::Permissions::from_mode(0o700)).unwrap();
    let linked = discover(&[("MIA_HOME", link.to_str().unwrap())]).unwrap();
    linked.ensure_socket_dir().unwrap();
}

#[test]
fn a_socket_folder_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a folder away");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (theirs, link) = (folder.path().join("theirs"), folder.path().join("link"));
    fs::create_dir(&theirs).unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::chown(&theirs, Some(54_321), None).unwrap();
    symlink(&theirs, &link).unwrap();
    for home in [&theirs, &link] {
        let paths = discover(&[("MIA_HOME", home.to_str().unwrap())]).unwrap();
        let refused = paths.ensure_socket_dir();
        assert!(matches!(refused, Err(PathsError::NotPrivate(_))), "{home:?}: {refused:?}");
    }
}
