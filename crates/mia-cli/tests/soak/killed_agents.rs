//! The daemon is killed while a real agent is at work.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use mia_testkit::agents::{RealAgent, RealHome, skip_or_fail};
use mia_testkit::fakellm::{FakeLlm, Options};
use mia_testkit::proc::{KILL, Process, block_until, block_until_gone, descendants, with_env};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::daemon::{SOON, SWEPT};
use crate::person::Ran;
use crate::rounds::{Round, rounds};

const MARK: &str = "SOAK_MARK";

/// Somebody whose one agent is a real one, with a model on loopback.
struct Owner {
    home: RealHome,
    agent: RealAgent,
    mia_home: PathBuf,
    _llm: FakeLlm,
}

impl Owner {
    fn new(agent: RealAgent) -> Option<Self> {
        let Some(program) = agent.program() else {
            skip_or_fail(agent.name());
            return None;
        };
        let llm = FakeLlm::with(Options::default()).unwrap();
        let home = RealHome::of(agent, llm.url());
        let mia_home = home.home().join("mia");
        std::fs::create_dir(&mia_home).unwrap();
        let key = agent.key();
        let config =
            format!("plugins:\n  {}: {{binary: {program:?}, pass_env: [{key}]}}\n", agent.name());
        std::fs::write(mia_home.join("config.yaml"), config).unwrap();
        Some(Self { home, agent, mia_home, _llm: llm })
    }

    fn mark(&self) -> String {
        self.home.home().to_string_lossy().into_owned()
    }

    fn mia(&self, args: &[&str]) -> Command {
        let mut mia = self.home.command(env!("CARGO_BIN_EXE_mia").as_ref());
        mia.args(args).env("MIA_HOME", &self.mia_home);
        mia
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.mia(args).output().unwrap().into()
    }

    fn ask(&self, prompt: &str) -> String {
        let plugin = self.agent.name();
        let mut ask = self.mia(&["ask", "--plugin", plugin, "--conversation", "talk", prompt]);
        Ran::from(ask.env(MARK, self.mark()).output().unwrap()).code(0).out
    }

    fn trace(&self, task: &str) -> Value {
        serde_json::from_str(&self.run(&["log", "--json", "--trace", task]).code(0).out).unwrap()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.mia(&["stop", "--now", "--quiet"]).output();
    }
}

fn one_kill(owner: &Owner, round: &mut Round, number: usize) -> String {
    let word = format!("kiwi{}", round.rng.u32(..));
    assert!(owner.ask(&format!("REMEMBER {word}")).contains(&word));
    let status: Value = serde_json::from_str(&owner.run(&["status", "--json"]).out).unwrap();
    let pid = u32::try_from(status["pid"].as_u64().unwrap()).unwrap();
    let daemon = Process::of(pid).unwrap();
    let task = format!("task-{number}");
    let plugin = owner.agent.name();
    let mut ask = owner.mia(&[
        "ask",
        "--detach",
        "--plugin",
        plugin,
        "--conversation",
        "talk",
        "--task",
        &task,
        "SLOW 60@0.02 word",
    ]);
    Ran::from(ask.env(MARK, owner.mark()).output().unwrap()).code(0);
    let delay = round.up_to(Duration::from_millis(2500));
    std::thread::sleep(delay);
    let below = descendants(pid);
    daemon.signal(KILL);
    block_until_gone(&[daemon], SOON).unwrap();
    assert_eq!(block_until_gone(&below, SWEPT), Ok(()), "after {delay:?}: it runs on");
    block_until("nothing of the task to run", SWEPT, || {
        with_env(MARK, &owner.mark()).is_empty().then_some(())
    });
    let ended = owner.trace(&task);
    let status = ended["summary"]["status"].as_str().unwrap().to_owned();
    match status.as_str() {
        "interrupted" => {
            let error = &ended["error"];
            assert_eq!(
                (&error["code"], &error["cause"]),
                (&"ABORTED".into(), &"interrupted".into())
            );
            let partial = error["partial"]["content"].as_str().unwrap_or_default();
            let words = partial.split_whitespace();
            assert!(words.clone().all(|said| "word".starts_with(said.trim_matches(|c: char| !c.is_alphabetic()))), "{partial:?}");
        }
        "completed" => {}
        other => panic!("after {delay:?}: {other}: {ended:#}"),
    }
    let recalled = owner.ask("RECALL");
    assert!(recalled.contains(&word), "after {delay:?} the session was lost: {recalled}");
    format!("{:.1} s: {status}", delay.as_secs_f64())
}

/// Kills the daemon of each of these agents so many times. What it did.
fn kill_all(round: &mut Round, agents: &[RealAgent], kills: usize) -> String {
    let mut done = Vec::new();
    for agent in agents {
        let Some(owner) = Owner::new(*agent) else { continue };
        for number in 0..kills {
            done.push(format!("{} after {}", agent.name(), one_kill(&owner, round, number)));
        }
    }
    done.join(", ")
}

#[test]
fn m_039_real_agents_and_their_sessions_survive_a_killed_daemon() {
    rounds("killed_agents", |round| {
        // The other ones take seconds to start; the long run has all.
        let few = &[RealAgent::ClaudeCode, RealAgent::Codex];
        let agents = if round.is_long() { &RealAgent::ALL[..] } else { few };
        let kills = round.size(1, 4);
        kill_all(round, agents, kills)
    });
}
