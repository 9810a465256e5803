//! The reference for streams: a program that reads the same pipe and only finds newlines.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::{Failure, meter};

pub(crate) fn run(child: &Path) -> Result<Value, Failure> {
    let began = Instant::now();
    let cpu = meter::cpu();
    let mut child = Command::new(child).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    stdin.write_all(b"{}\n")?;
    let mut stdout = child.stdout.take().ok_or("no stdout")?;
    let mut buffer = vec![0; 64 * 1024];
    let (mut lines, mut bytes) = (0, 0);
    loop {
        let count = stdout.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        bytes += count;
        lines += memchr::memchr_iter(b'\n', buffer.get(..count).unwrap_or_default()).count();
    }
    drop(stdin);
    child.wait()?;
    Ok(json!({
        "wall_us": meter::micros(began.elapsed()),
        "cpu_us": meter::micros(meter::cpu() - cpu),
        "lines": lines,
        "bytes": bytes,
        "peak_kib": meter::peak_kib(),
    }))
}
