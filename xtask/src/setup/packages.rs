//! Packages of the system, with apt where we are root.

use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, on_path, run};

/// A program, and the packages of Debian that bring it.
struct Needed {
    program: &'static str,
    /// What it must also be able to do: it is run with these, if any, and must end well.
    proof: &'static [&'static str],
    packages: &'static [&'static str],
}

/// What the tests themselves need.
const ALWAYS: [Needed; 3] = [
    // The tests of the guide make repositories.
    Needed { program: "git", proof: &[], packages: &["git"] },
    // A test of a clock that jumps lies about the time with its library.
    Needed { program: "faketime", proof: &[], packages: &["faketime"] },
    // SQLite is compiled with the crate that binds it.
    Needed { program: "cc", proof: &[], packages: &["gcc", "libc6-dev"] },
];

/// What brings the agents and what checks the API.
const FOR_NODE: [Needed; 2] = [
    Needed { program: "node", proof: &[], packages: &["nodejs", "ca-certificates"] },
    Needed { program: "npm", proof: &[], packages: &["npm"] },
];

/// What fuzzes the API. Debian splits off what makes a virtual environment.
const FOR_PYTHON: [Needed; 1] = [Needed {
    program: "python3",
    proof: &["-c", "import ensurepip, venv"],
    packages: &["python3", "python3-venv"],
}];

impl Needed {
    fn is_there(&self, repository: &Repository) -> bool {
        on_path(self.program)
            && (self.proof.is_empty()
                || run(repository.command(self.program).args(self.proof)).is_ok_and(|s| s.ok()))
    }
}

/// Installs what is missing; what brings packages of node or of Python only where these are not
/// there yet.
pub(super) fn prepare(
    repository: &Repository,
    node: bool,
    python: bool,
) -> Result<Outcome, Failure> {
    let needed = ALWAYS
        .iter()
        .chain(FOR_NODE.iter().filter(|_| node))
        .chain(FOR_PYTHON.iter().filter(|_| python));
    let missing: Vec<&Needed> = needed.filter(|needed| !needed.is_there(repository)).collect();
    if missing.is_empty() {
        return Ok(Outcome::passed());
    }
    let programs: Vec<&str> = missing.iter().map(|needed| needed.program).collect();
    let packages: Vec<&str> =
        missing.iter().flat_map(|needed| needed.packages.iter().copied()).collect();
    let what = format!("programs missing: {}", programs.join(", "));
    if !on_path("apt-get") {
        return Ok(Outcome::skipped(format!("{what}; install them with this system's own tool")));
    }
    let by_hand = format!("apt-get install {}", packages.join(" "));
    if !rustix::process::geteuid().is_root() {
        return Ok(Outcome::skipped(format!("{what}; run as root: {by_hand}")));
    }
    let apt = |args: &[&str]| {
        run(repository
            .command("apt-get")
            .args(args)
            .args(&packages)
            .env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    let mut said = apt(&install)?;
    if !said.ok() {
        // The lists are old, or there are none, as in a fresh container.
        run(repository.command("apt-get").args(["update", "--quiet"]))?;
        said = apt(&install)?;
    }
    if !said.ok() {
        let why = format!("{what}; `{by_hand}` failed: {}", said.last_line());
        return Ok(Outcome { output: said.all, ..Outcome::skipped(why) });
    }
    Ok(Outcome { summary: format!("installed: {}", packages.join(" ")), ..Outcome::passed() })
}
