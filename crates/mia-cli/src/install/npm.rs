//! Running npm, and what its failures mean.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_host::Supervisor;
use mia_plugin::Environment;

use crate::failure::Failure;
use crate::programs::{self, Run, Said, on_path};
use crate::time::took;

/// How many of npm's own lines are told.
const LINES: usize = 8;

/// What npm gets of the environment though it looks like a secret: its own settings, and the usual
/// names of its tokens.
const OWN: [&str; 6] =
    ["npm_config_*", "NPM_CONFIG_*", "NPM_TOKEN", "NODE_AUTH_TOKEN", "NPM_AUTH_TOKEN", "NODE_*"];

/// Not among the settings of the person: whatever npm is told elsewhere, this is installed here, as
/// a whole, and nothing of it is run.
const ARGS: [&str; 12] = [
    "install",
    "--global=false",
    "--location=project",
    "--ignore-scripts",
    // The native program of an agent is an optional package.
    "--include=optional",
    "--install-strategy=hoisted",
    // It asks for the node that the agent is run with; see `node`.
    "--engine-strict=false",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--no-progress",
    "--loglevel=error",
];

/// npm, as it is found on the `PATH`.
#[derive(Debug)]
pub(super) struct Npm {
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl Npm {
    pub(super) fn find(environment: &Environment) -> Result<Self, Failure> {
        let program = on_path(environment, "npm").ok_or_else(|| {
            Failure::environment("npm is not installed, and agents come from npm").with_help(
                "install Node.js, which brings npm: https://nodejs.org, or your system's packages",
            )
        })?;
        let mut wanted: Vec<String> = OWN.map(str::to_owned).to_vec();
        wanted.extend(named_in_settings(environment));
        Ok(Self { program, env: environment.without_secrets(&wanted) })
    }

    /// Installs what the `package.json` of a folder asks for: that package, above all.
    pub(super) async fn install(
        &self,
        supervisor: &Supervisor,
        folder: &Path,
        package: &str,
        limit: Duration,
    ) -> Result<(), Failure> {
        let run = Run {
            program: self.program.clone(),
            args: ARGS.map(Into::into).to_vec(),
            env: self.env.clone(),
            cwd: folder.to_owned(),
            limit,
        };
        let said = programs::run(supervisor, run).await.map_err(|error| {
            Failure::environment(format!("npm can't be started: can't {error}"))
        })?;
        if said.ok() { Ok(()) } else { Err(failure(&said, package, limit)) }
    }
}

/// The variables that the person's npm settings name, as in `_authToken=${COMPANY_TOKEN}`.
fn named_in_settings(environment: &Environment) -> Vec<String> {
    let file = |name: &str| environment.get(name).map(PathBuf::from);
    let homes = file("HOME").map(|home| home.join(".npmrc"));
    let files = ["NPM_CONFIG_USERCONFIG", "npm_config_userconfig"].map(file).into_iter().flatten();
    let global = ["NPM_CONFIG_GLOBALCONFIG", "npm_config_globalconfig"].map(file);
    let usual = ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"].map(PathBuf::from);
    let all = homes.into_iter().chain(files).chain(global.into_iter().flatten()).chain(usual);
    let mut names = Vec::new();
    for file in all.filter(|file| file.is_file()) {
        let text = fs::read_to_string(file).unwrap_or_default();
        for part in text.split("${").skip(1) {
            // npm knows `${NAME?}` for one that may be missing.
            let name = part.split('}').next().unwrap_or_default().trim_end_matches('?');
            if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// What went wrong, npm's own last lines, and what to do.
fn failure(said: &Said, package: &str, limit: Duration) -> Failure {
    let lines: Vec<&str> = said
        .stderr
        .lines()
        .chain(said.stdout.lines())
        .filter(|line| says_something(line))
        .collect();
    let code = lines.iter().find_map(|line| code(line));
    let (what, hint) = match code {
        Some("ENOSPC" | "EDQUOT") => ("no space is left on the disk", "free some, and try again"),
        Some("ETARGET") => {
            let failure = Failure::usage("npm knows no such version of the package");
            let help = format!("`npm view {package} versions` lists them");
            return failure.with_help(with_lines(&lines, &help));
        }
        Some("E404") => ("the registry has no such package or version", "check npm's registry"),
        Some("E401" | "E403" | "ENEEDAUTH") => {
            ("the registry refuses to give the package", "check npm's registry and its login")
        }
        Some(
            "ENOTFOUND" | "EAI_AGAIN" | "ECONNREFUSED" | "ECONNRESET" | "ETIMEDOUT" | "ENETUNREACH"
            | "EHOSTUNREACH" | "ERR_SOCKET_TIMEOUT" | "FETCH_ERROR" | "ENOTCACHED",
        ) => ("npm can't reach its registry", "check the network, and npm's registry and proxy"),
        Some(
            "SELF_SIGNED_CERT_IN_CHAIN"
            | "DEPTH_ZERO_SELF_SIGNED_CERT"
            | "CERT_HAS_EXPIRED"
            | "UNABLE_TO_GET_ISSUER_CERT"
            | "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"
            | "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        ) => (
            "npm does not trust the registry's certificate",
            "set NODE_EXTRA_CA_CERTS or npm's cafile to your company's certificates",
        ),
        Some("EINTEGRITY") => {
            ("what npm fetched is damaged", "run `npm cache verify`, and try again")
        }
        Some("EBADPLATFORM") => ("there is no such package for this machine", ""),
        Some("EACCES" | "EPERM" | "EROFS") => {
            ("npm may not write where it has to", "check the owner of the files that it names")
        }
        _ => match said.exit {
            None => {
                let what = format!("npm did not finish in {}", took(limit));
                let help = "check the network, or give it more time with --timeout";
                return Failure::environment(what).with_help(with_lines(&lines, help));
            }
            Some(exit) => {
                let failure = Failure::environment(format!("npm failed ({exit})"));
                return failure.with_help(with_lines(&lines, ""));
            }
        },
    };
    Failure::environment(what).with_help(with_lines(&lines, hint))
}

/// npm's word for what went wrong, as in `npm error code ENOSPC`.
fn code(line: &str) -> Option<&str> {
    Some(own_words(line)?.strip_prefix("code ")?.trim())
}

/// What npm says in a line about its failure; older ones say `npm ERR!`.
fn own_words(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("npm error").or_else(|| line.strip_prefix("npm ERR!"))?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// False for npm's own stack traces and printed objects, which would push the reason out.
fn says_something(line: &str) -> bool {
    let words = own_words(line).unwrap_or(line);
    let inner = own_words(line).is_some() && words.starts_with(' ');
    !inner && !matches!(words.trim(), "" | "}")
}

fn with_lines(lines: &[&str], hint: &str) -> String {
    let first = lines.len().saturating_sub(LINES);
    let mut text: String =
        lines.iter().skip(first).map(|line| format!("| {line}\n")).collect::<String>();
    text.push_str(hint);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn m_010_npm_gets_the_tokens_that_its_settings_name() {
        let home = std::env::temp_dir().join(format!("mia-npmrc-{}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        let settings = "//r.example/:_authToken=${COMPANY_TOKEN}\n//s/:_password=${OTHER_PASS?}\n";
        fs::write(home.join(".npmrc"), settings).unwrap();
        let at = home.to_str().unwrap();
        let environment: Environment = [
            ("HOME", at),
            ("COMPANY_TOKEN", "1"),
            ("OTHER_PASS", "1"),
            ("GITHUB_TOKEN", "canary"),
            ("npm_config__auth", "1"),
        ]
        .into_iter()
        .collect();
        let mut wanted = named_in_settings(&environment);
        assert_eq!(wanted, ["COMPANY_TOKEN", "OTHER_PASS"]);
        wanted.extend(OWN.map(str::to_owned));
        let given = environment.without_secrets(&wanted);
        let names: Vec<_> = given.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        let all = ["COMPANY_TOKEN", "HOME", "NO_COLOR", "OTHER_PASS", "npm_config__auth"];
        assert_eq!(names, all);
        fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn m_010_the_word_for_a_failure_is_found() {
        assert_eq!(code("npm error code ENOSPC"), Some("ENOSPC"));
        assert_eq!(code("npm ERR! code E404"), Some("E404"));
        assert_eq!(code("npm error network request failed"), None);
    }

    #[test]
    fn m_010_the_reason_is_not_pushed_out_by_a_stack_trace() {
        // As npm 11.19 said it.
        let said = "npm error code ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:9/x failed, reason: connect ECONNREFUSED
npm error     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/lib/index.js:130:14)
npm error   code: 'ECONNREFUSED',
npm error   requiredBy: '.'
npm error }
npm error
npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.";
        let kept: Vec<_> = said.lines().filter(|line| says_something(line)).collect();
        assert_eq!(kept.len(), 3);
        assert!(kept[1].contains("reason: connect") && kept[2].contains("proxy"), "{kept:?}");
    }
}
