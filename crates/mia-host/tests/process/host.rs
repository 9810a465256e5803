//! This machine as a host: what runs on it, and that nothing of it is left.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mia_host::Signal;
use mia_host::host::{ExecSpec, Host, HostError, LazyHost, LocalHost, ProcessSpec};
use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::{SIX_SECONDS, eventually, running, supervisor, tag};

struct Here {
    host: LocalHost,
    folder: tempfile::TempDir,
}

fn here() -> Here {
    let folder = tempfile::tempdir().unwrap();
    let env = [("PATH", "/usr/bin:/bin"), ("HOME", "/home/me")];
    let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
    Here { host: LocalHost::new(supervisor(), folder.path().to_owned(), env), folder }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn p_137_any_end_is_an_outcome_unless_it_is_to_be_checked() {
    let Here { host, folder } = here();
    let out = host.exec(ExecSpec::new("echo out; echo err >&2; exit 3")).await.unwrap();
    assert_eq!((out.status.code, out.truncated), (Some(3), false));
    assert_eq!((text(&out.stdout), text(&out.stderr)), ("out\n".into(), "err\n".into()));
    let out = host.exec(ExecSpec::new("kill -9 $$")).await.unwrap();
    assert_eq!((out.status.code, out.status.signal), (None, Some(9)));
    let checked = ExecSpec { check: true, ..ExecSpec::new("echo why >&2; exit 3") };
    let error = host.exec(checked).await.unwrap_err();
    assert_eq!(error.to_string(), "/bin/sh ended with exit code 3: why");
    // Without an end, and with nothing to read it.
    let spec = ExecSpec {
        max_output: 1000,
        ..ExecSpec::new("yes | head -c 300000; yes | head -c 300000 >&2")
    };
    let out = host.exec(spec).await.unwrap();
    assert_eq!((out.stdout.len(), out.truncated), (1000, true));
    let where_it_is = host.exec(ExecSpec::new("pwd; echo $HOME; env | wc -l")).await.unwrap();
    let lines = text(&where_it_is.stdout);
    assert!(lines.starts_with(&format!("{}\n/home/me\n", folder.path().display())), "{lines}");
    let spec = ExecSpec {
        stdin: b"in".to_vec(),
        cwd: Some("/".into()),
        env: vec![("A".into(), "b".into())],
        ..ExecSpec::new("cat; pwd; echo $A")
    };
    assert_eq!(text(&host.exec(spec).await.unwrap().stdout), "in/\nb\n");
}

#[tokio::test]
async fn p_138_arguments_are_what_they_are() {
    let Here { host, folder: _folder } = here();
    let odd = OsString::from_vec(b"a b'\"$x\n\xff*;".to_vec());
    let argv: Vec<OsString> = vec!["printf".into(), "%s".into(), odd.clone()];
    let out = host.exec(ExecSpec::new(argv)).await.unwrap();
    assert_eq!(out.stdout, odd.into_vec());
    let error = host.exec(ExecSpec::new(["no-such-program-at-all"])).await.unwrap_err();
    let says = "can't run no-such-program-at-all: it is not on the PATH of its host";
    assert_eq!(error.to_string(), says);
    host.exec(ExecSpec::new(Vec::<OsString>::new())).await.unwrap_err();
}

#[tokio::test]
async fn what_a_program_leaves_behind_or_takes_too_long_over_is_ended() {
    let Here { host, folder: _folder } = here();
    let mark = tag();
    let spec = ExecSpec::new(format!("setsid sleep {mark} & echo done").as_str());
    assert_eq!(text(&host.exec(spec).await.unwrap().stdout), "done\n");
    assert_eq!(running(&mark), Vec::<u32>::new());
    let limit = Duration::from_millis(300);
    let words = format!("sleep {mark}");
    let spec = ExecSpec { timeout: Some(limit), ..ExecSpec::new(words.as_str()) };
    let began = Instant::now();
    let error = host.exec(spec).await.unwrap_err();
    assert!(error.to_string().contains("did not end in 0.3 s"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(running(&mark), Vec::<u32>::new());
}

#[tokio::test]
async fn p_139_a_process_has_streams_with_backpressure_a_wait_and_a_kill() {
    let Here { host, folder: _folder } = here();
    let spec = |program: &str, args: &[&str]| ProcessSpec {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: None,
        env: Vec::new(),
    };
    let mut cat = host.spawn(spec("cat", &[])).await.unwrap();
    cat.stdin.write_all(b"hello").await.unwrap();
    let mut five = [0; 5];
    cat.stdout.read_exact(&mut five).await.unwrap();
    assert_eq!(&five, b"hello");
    drop(cat.stdin);
    assert!(cat.control.wait().await.unwrap().success());
    // One that nobody reads stands still, and its writer takes no memory of ours.
    let mut yes = host.spawn(spec("yes", &[])).await.unwrap();
    let mut some = vec![0; 100_000];
    yes.stdout.read_exact(&mut some).await.unwrap();
    yes.control.kill(Signal::Terminate).await.unwrap();
    assert_eq!(yes.control.wait().await.unwrap().signal, Some(15));
    yes.control.kill(Signal::Kill).await.unwrap();
}

#[tokio::test]
async fn p_136_what_runs_on_a_host_ends_with_it_and_nothing_runs_on_it_after() {
    let Here { host, folder: _folder } = here();
    let mark = tag();
    let spec = ProcessSpec {
        program: "sh".into(),
        args: vec!["-c".into(), format!("setsid sleep {mark} & sleep {mark}").into()],
        cwd: None,
        env: Vec::new(),
    };
    let process = host.spawn(spec.clone()).await.unwrap();
    drop(process.stdin);
    eventually(SIX_SECONDS, "all of it runs", || running(&mark).len() == 3).await;
    host.close().await.unwrap();
    assert_eq!(running(&mark), Vec::<u32>::new());
    assert!(matches!(host.spawn(spec).await, Err(HostError::Closed)));
    assert!(matches!(host.exec(ExecSpec::new("true")).await, Err(HostError::Closed)));
    host.close().await.unwrap();
}

#[tokio::test]
async fn p_132_many_first_uses_open_once_and_a_failure_stays() {
    let opened = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&opened);
    let Here { host, folder } = here();
    let lazy = Arc::new(LazyHost::new(async move {
        count.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        let host: Arc<dyn Host> = Arc::new(host);
        Ok(host)
    }));
    // Who comes first goes away again.
    {
        let first = lazy.exec(ExecSpec::new("true"));
        tokio::pin!(first);
        assert!(futures::poll!(first).is_pending());
    }
    let uses = (0..20).map(|_| lazy.exec(ExecSpec::new("echo here")));
    for used in futures::future::join_all(uses).await {
        assert_eq!(text(&used.unwrap().stdout), "here\n");
    }
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    lazy.close().await.unwrap();
    assert!(matches!(lazy.info().await, Err(HostError::Closed)));
    drop(folder);

    let broken = LazyHost::new(async { Err(HostError::new("no route")) });
    for _ in 0..2 {
        let error = broken.info().await.unwrap_err();
        assert_eq!(error.to_string(), "the host could not be opened: no route");
    }
    broken.close().await.unwrap();
}
