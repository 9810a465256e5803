//! The lines of docs/design.md, "Numbers to beat", that can be measured by now.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::child::{self, Script};
use super::doors;
use super::measure::{Run, run};
use super::pairs::{Figure, Pairs, Setting, expect, figure, repeated};
use super::row::{Row, Target};
use crate::Failure;

/// A line: a name, and how its rows are measured.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&Setting<'_>) -> Result<Vec<Row>, Failure>,
}

/// All of them.
pub(crate) const ALL: [Line; 14] = [
    Line { name: "spawn", measure: spawn },
    Line { name: "recorded", measure: recorded },
    Line { name: "end-to-end", measure: doors::end_to_end },
    Line { name: "big-line", measure: big_line },
    Line { name: "dispatch", measure: dispatch },
    Line { name: "history", measure: history },
    Line { name: "version", measure: version },
    Line { name: "ask", measure: ask },
    Line { name: "ask-daemon", measure: doors::ask },
    Line { name: "idle", measure: doors::idle },
    Line { name: "log", measure: doors::log },
    Line { name: "watchers", measure: doors::watchers },
    Line { name: "many", measure: many },
    Line { name: "size", measure: size },
];

const KIB: f64 = 1024.0;
const MIB: usize = 1024 * 1024;

/// 200,000 text deltas through the spawn plugin, beside a program that only finds the newlines.
fn spawn(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const LINES: usize = 200_000;
    let (deltas, text_bytes) = child::deltas(LINES);
    let mut steps = vec!["read-line".to_owned(), child::init()];
    steps.extend(deltas);
    steps.push(child::result());
    let script = Script::write(setting.folder, "stream", &steps)?;
    let pairs = setting.pairs(
        || {
            let run = setting.subject(&script, "stream", &[])?;
            expect(&run, "outcome", "ok")?;
            expect(&run, "text_bytes", LINES * text_bytes)?;
            Ok(run)
        },
        || setting.subject(&script, "scan", &[]),
    )?;
    let lines = LINES as f64;
    let what = format!("200,000 deltas of {} B, delivered", child::LINE);
    let rate = pairs.row("spawn", what, "/s").of(
        |run| Ok(lines / figure(run, "wall_us")? * 1e6),
        &Figure::Ratio,
        Target::AtLeast(0.15),
    )?;
    let cpu = pairs.row("spawn", "CPU of our process, a line", "µs").of(
        |run| Ok(figure(run, "cpu_us")? / lines),
        &Figure::Ours,
        Target::AtMost(1.0),
    )?;
    let peak = pairs.row("spawn", "peak memory of our process", "MiB").of(
        |run| Ok(figure(run, "peak_kib")? / KIB),
        &Figure::Ours,
        Target::AtMost(24.0),
    )?;
    Ok(vec![rate, cpu, peak])
}

/// The same through the dispatcher, with everything on record.
fn recorded(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const LINES: usize = 200_000;
    let (deltas, text_bytes) = child::deltas(LINES);
    let mut steps = vec!["read-line".to_owned(), child::init()];
    steps.extend(deltas);
    steps.push(child::result());
    let script = Script::write(setting.folder, "recorded", &steps)?;
    let mut number = 0;
    let pairs = setting.pairs(
        || {
            number += 1;
            let database = setting.folder.join(format!("{number}.db"));
            let run = setting.subject(&script, "recorded", &[&database.to_string_lossy()])?;
            expect(&run, "outcome", "ok")?;
            expect(&run, "text_bytes", LINES * text_bytes)?;
            Ok(run)
        },
        || setting.subject(&script, "scan", &[]),
    )?;
    let lines = LINES as f64;
    let what = format!("200,000 deltas of {} B, dispatcher and history", child::LINE);
    let rate = pairs.row("recorded", what, "/s").of(
        |run| Ok(lines / figure(run, "wall_us")? * 1e6),
        &Figure::Ratio,
        Target::AtLeast(0.08),
    )?;
    let cpu = pairs.row("recorded", "CPU of our process, a line", "µs").of(
        |run| Ok(figure(run, "cpu_us")? / lines),
        &Figure::Ours,
        Target::None,
    )?;
    let peak = pairs.row("recorded", "peak memory of our process", "MiB").of(
        |run| Ok(figure(run, "peak_kib")? / KIB),
        &Figure::Ours,
        Target::AtMost(48.0),
    )?;
    Ok(vec![rate, cpu, peak])
}

/// One line of 9 MiB as answer text; and one that is longer than allowed.
fn big_line(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let cases = [
        ("9 MiB line", 9 * MIB, "ok", [Target::AtMost(40.0), Target::AtMost(64.0)]),
        // The cap is 32 MiB, and as much as that has to be held until it is passed.
        ("40 MiB line, over the cap", 40 * MIB, "BUFFER_OVERFLOW", [Target::None, Target::None]),
    ];
    for (name, bytes, outcome, [wall_target, peak_target]) in cases {
        let steps =
            ["read-line".to_owned(), child::init(), child::big_line(bytes), child::result()];
        let script = Script::write(setting.folder, name, &steps)?;
        let pairs = setting.pairs(
            || {
                let run = setting.subject(&script, "stream", &[])?;
                expect(&run, "outcome", outcome)?;
                if outcome == "ok" {
                    expect(&run, "text_bytes", bytes)?;
                }
                Ok(run)
            },
            || setting.subject(&script, "scan", &[]),
        )?;
        rows.push(pairs.row("big-line", format!("{name}, wall"), "ms").of(
            |run| Ok(figure(run, "wall_us")? / 1e3),
            &Figure::Difference,
            wall_target,
        )?);
        rows.push(pairs.row("big-line", format!("{name}, peak memory"), "MiB").of(
            |run| Ok(figure(run, "peak_kib")? / KIB),
            &Figure::Ours,
            peak_target,
        )?);
    }
    Ok(rows)
}

/// A dispatch beside a bare spawn of the same child.
fn dispatch(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const TIMES: &str = "200";
    let script = Script::write(setting.folder, "one", &[child::result()])?;
    let pairs = setting.pairs(
        || setting.subject(&script, "dispatch", &[TIMES]),
        || setting.subject(&script, "bare", &[TIMES]),
    )?;
    let row = pairs.row("dispatch", format!("one of {TIMES} dispatches, supervised"), "ms").of(
        |run| Ok(figure(run, "median_us")? / 1e3),
        &Figure::Difference,
        Target::AtMost(0.5),
    )?;
    Ok(vec![row])
}

/// A dispatch through the dispatcher, on record, beside a bare spawn of the same child.
fn history(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const TIMES: &str = "200";
    let script = Script::write(setting.folder, "one", &[child::result()])?;
    let mut number = 0;
    let pairs = setting.pairs(
        || {
            number += 1;
            let database = setting.folder.join(format!("{number}.db"));
            setting.subject(&script, "recorded-each", &[TIMES, &database.to_string_lossy()])
        },
        || setting.subject(&script, "bare", &[TIMES]),
    )?;
    let row = pairs.row("history", format!("one of {TIMES} dispatches, on record"), "ms").of(
        |run| Ok(figure(run, "median_us")? / 1e3),
        &Figure::Difference,
        Target::AtMost(1.0),
    )?;
    Ok(vec![row])
}

/// `mia --version` beside `true`.
fn version(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    let program = setting.programs.mia()?;
    let pairs = repeated(setting, 20, || {
        let mia = run(Command::new(&program).arg("--version"), "")?;
        Ok((mia, run(&mut Command::new("true"), "")?))
    })?;
    let row = pairs.row("version", "mia --version", "ms").of(
        |run| Ok(run.wall.as_secs_f64() * 1e3),
        &Figure::Ours,
        Target::AtMost(5.0),
    )?;
    Ok(vec![row])
}

/// `mia ask` in one process beside the agent itself: the first time ever, and later.
fn ask(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    let (mia, agent) = (setting.programs.mia()?, setting.programs.fakecli()?);
    let (deltas, text_bytes) = child::deltas(1);
    let mut steps = vec!["read-line".to_owned(), child::init()];
    steps.extend(deltas);
    steps.push(child::result());
    let script = Script::write(setting.folder, "ask", &steps)?;
    let mut homes = 0;
    let mut home = || {
        homes += 1;
        let home = setting.folder.join(format!("home-{homes}"));
        fs::create_dir(&home)?;
        let binary = serde_json::to_string(&agent.to_string_lossy())?;
        let config = format!("plugins:\n  claude-code:\n    binary: {binary}\n");
        fs::write(home.join("config.yaml"), config)?;
        Ok::<_, Failure>(home)
    };
    let asked = |home: &Path| {
        let mut ask = script.command(&mia);
        ask.current_dir(setting.folder).env("MIA_HOME", home).env("HOME", home);
        let ours = run(
            ask.args(["ask", "--no-daemon", "--quiet", "--plugin", "claude-code", "hello"]),
            "",
        )?;
        if ours.stdout.trim_end().len() != text_bytes {
            return Err(format!("mia ask said {:?}", ours.stdout).into());
        }
        let reference = run(&mut script.command(&agent), "{}\n")?;
        Ok((ours, reference))
    };
    let used = home()?;
    asked(&used)?;
    let later = repeated(setting, 10, || asked(&used))?;
    let first = repeated(setting, 10, || asked(&home()?))?;
    let wall = |run: &Run| Ok(run.wall.as_secs_f64() * 1e3);
    let target = Target::AtMost(40.0);
    let what = "mia ask in one process";
    Ok(vec![
        later.row("ask", what, "ms").of(wall, &Figure::Difference, target)?,
        first.row("ask", format!("{what}, first ever"), "ms").of(
            wall,
            &Figure::Difference,
            target,
        )?,
    ])
}

/// 50 dispatches at once.
fn many(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    const AT_ONCE: &str = "50";
    let mut number = 0;
    let mut subject = |mode: &str, count: &str| {
        number += 1;
        let gate = setting.folder.join(format!("gate-{number}"));
        let gate = gate.to_string_lossy();
        let (mut steps, _) = child::deltas(1);
        steps.extend([format!("wait-file {gate}"), child::result()]);
        let script = Script::write(setting.folder, &format!("many-{number}"), &steps)?;
        setting.subject(&script, mode, &[count, &gate])
    };
    let mut one = Pairs { ours: Vec::new(), reference: Vec::new() };
    let mut pairs = Pairs { ours: Vec::new(), reference: Vec::new() };
    for _ in 0..setting.runs {
        one.reference.push(subject("many", "1")?);
        pairs.reference.push(subject("many-bare", AT_ONCE)?);
        pairs.ours.push(subject("many", AT_ONCE)?);
        one.ours.push(subject("many", AT_ONCE)?);
    }
    let ms = |name: &'static str| move |run: &Run| Ok(figure(run, name)? / 1e3);
    Ok(vec![
        // A thread each would be 49 more.
        one.row("many", "threads while 50 dispatches run (reference: 1 dispatch)", "threads").of(
            |run| figure(run, "threads"),
            &Figure::Difference,
            Target::AtMost(4.0),
        )?,
        pairs.row("many", "until 50 dispatches run", "ms").of(
            ms("running_us"),
            &Figure::Difference,
            Target::None,
        )?,
        pairs.row("many", "until 50 dispatches have ended", "ms").of(
            ms("ended_us"),
            &Figure::Difference,
            Target::None,
        )?,
    ])
}

/// The size of the program.
fn size(setting: &Setting<'_>) -> Result<Vec<Row>, Failure> {
    let megabytes = fs::metadata(setting.programs.mia()?)?.len() as f64 / 1e6;
    Ok(vec![Row {
        line: "size",
        what: "the program mia, stripped".to_owned(),
        unit: "MB",
        ours: megabytes,
        reference: None,
        figure: megabytes,
        figure_is: "ours",
        target: Target::AtMost(15.0),
        cpu: None,
        wall: None,
        runs: vec![megabytes],
    }])
}
