//! A Mia in small, for the tests: runs each argument as a shell script under its own supervisor,
//! says so once each script has said something, and waits for the end of its stdin, or to be
//! killed.

use std::error::Error;

use mia_host::framing::{LineReader, MAX_LINE};
use mia_host::{SpawnSpec, Stdin, Supervisor, SupervisorProgram};
use tokio::io::AsyncReadExt;

fn main() -> Result<(), Box<dyn Error>> {
    mia_host::supervisor::enter_if_asked();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())?;
    // As when a program is left in the middle: nothing is dropped.
    std::process::exit(0)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let supervisor = Supervisor::new(SupervisorProgram::ThisProgram);
    let mut children = Vec::new();
    for script in std::env::args_os().skip(1) {
        let mut child = supervisor
            .spawn(SpawnSpec {
                program: "/bin/sh".into(),
                args: vec!["-c".into(), script],
                env: vec![("PATH".into(), "/usr/bin:/bin".into())],
                cwd: "/".into(),
                stdin: Stdin::Null,
            })
            .await?;
        LineReader::new(&mut child.stdout, MAX_LINE).next().await?;
        children.push(child);
    }
    println!("ready {}", supervisor.pid().unwrap_or(0));
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    std::mem::forget(children);
    Ok(())
}
