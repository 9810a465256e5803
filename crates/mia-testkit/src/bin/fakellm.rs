//! The fake model server for people: `fakellm [--port N] [--require-key KEY] [--log-bodies]`.
//!
//! `POST /__open/NAME` opens a gate, `GET /__log` is the log.
//!
//! Prints its address, then a JSON line for each request when it is answered; runs until it is killed.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;

use mia_testkit::fakellm::{FakeLlm, Happening, Options};

fn options() -> Result<Options, String> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--port" => {
                options.port = value()?.parse().map_err(|_| "--port needs a number".to_owned())?
            }
            "--require-key" => options.require_key = Some(value()?),
            "--log-bodies" => options.bodies = true,
            _ => {
                return Err(
                    "usage: fakellm [--port N] [--require-key KEY] [--log-bodies]".to_owned()
                );
            }
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let llm = match options()
        .and_then(|options| FakeLlm::with(options).map_err(|error| error.to_string()))
    {
        Ok(llm) => llm,
        Err(error) => {
            eprintln!("fakellm: {error}");
            return ExitCode::from(2);
        }
    };
    println!("fakellm listening on {}", llm.url());
    let mut told = HashSet::new();
    loop {
        for request in llm.requests() {
            if request.happening != Happening::Open && told.insert(request.number) {
                println!("{}", request.line());
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
