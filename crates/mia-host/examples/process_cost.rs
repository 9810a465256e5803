//! Measures what the supervisor adds to a spawn, and what framing costs.
//!
//! `cargo run --release -p mia-host --example process_cost`
#![expect(clippy::unwrap_used, reason = "a measurement, not part of the program")]

use std::process::Stdio;
use std::time::{Duration, Instant};

use mia_host::framing::{LineReader, MAX_LINE};
use mia_host::{SpawnSpec, Stdin, Supervisor, SupervisorProgram};

const SPAWNS: usize = 300;
const LINES: usize = 2_000_000;
const LINE_BYTES: usize = 255;

fn main() {
    mia_host::supervisor::enter_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let supervisor = Supervisor::new(SupervisorProgram::ThisProgram);
        supervised(&supervisor).await;
        for _ in 0..3 {
            spawns(&supervisor).await;
        }
        lines(&supervisor).await;
    });
}

async fn spawns(supervisor: &Supervisor) {
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    // In turn, so that both meet the same machine.
    for _ in 0..SPAWNS {
        let began = Instant::now();
        let mut child = tokio::process::Command::new("/bin/true")
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.wait().await.unwrap();
        bare.push(began.elapsed());
        ours.push(supervised(supervisor).await);
    }
    let (start, all): (Vec<_>, Vec<_>) = ours.into_iter().unzip();
    println!("/bin/true, start to exit, bare: {:?}", median(bare));
    println!(
        "/bin/true, start to swept, supervised: {:?}; until started {:?}",
        median(all),
        median(start)
    );
}

async fn supervised(supervisor: &Supervisor) -> (Duration, Duration) {
    let spec = SpawnSpec {
        program: "/bin/true".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
        stdin: Stdin::Null,
    };
    let began = Instant::now();
    let child = supervisor.spawn(spec).await.unwrap();
    let started = began.elapsed();
    child.process.wait_exit().await.unwrap();
    child.process.sweep().await.unwrap();
    (started, began.elapsed())
}

async fn lines(supervisor: &Supervisor) {
    let text: Vec<u8> = (0..LINES * (LINE_BYTES + 1))
        .map(|at| if at % (LINE_BYTES + 1) == LINE_BYTES { b'\n' } else { b'x' })
        .collect();
    let began = Instant::now();
    let count = count_lines(&text[..]).await;
    rate("framing, from memory", count, began);

    let file = std::env::temp_dir().join(format!("mia-lines-{}", std::process::id()));
    std::fs::write(&file, &text).unwrap();
    for _ in 0..3 {
        let spec = SpawnSpec {
            program: "/bin/cat".into(),
            args: vec![file.clone().into()],
            env: Vec::new(),
            cwd: "/".into(),
            stdin: Stdin::Null,
        };
        let began = Instant::now();
        let child = supervisor.spawn(spec).await.unwrap();
        let count = count_lines(child.stdout).await;
        rate("framing, from `cat`", count, began);
    }
    std::fs::remove_file(file).unwrap();
}

async fn count_lines(stream: impl tokio::io::AsyncRead + Unpin) -> usize {
    let mut reader = LineReader::new(stream, MAX_LINE);
    let mut count = 0;
    while reader.next().await.unwrap().is_some() {
        count += 1;
        while reader.next_buffered().is_some() {
            count += 1;
        }
    }
    count
}

fn rate(what: &str, count: usize, began: Instant) {
    let rate = count as f64 / began.elapsed().as_secs_f64();
    println!("{what}: {:.1} million lines a second", rate / 1e6);
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
