//! What a project's manifest says: its name, what it is, how it is built.

use serde_json::Value;

use super::prose;

/// The manifests that are known, the most telling first.
pub(super) const NAMES: [&str; 9] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "go.mod",
    "CMakeLists.txt",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Makefile",
];

/// What a manifest says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// The project's name.
    pub(super) name: Option<String>,
    /// One line.
    pub(super) description: Option<String>,
    /// Commands that build and test it.
    pub(super) commands: Vec<String>,
}

impl Manifest {
    /// Reads a manifest of that name; `beside` are the names of the files next to it.
    pub(super) fn of(name: &str, text: &str, beside: &[String]) -> Self {
        let commands = |list: &[&str]| list.iter().map(|&c| c.to_owned()).collect();
        match name {
            "Cargo.toml" => Self {
                name: toml_text(text, "package", "name"),
                description: toml_text(text, "package", "description"),
                commands: commands(&["cargo build", "cargo test"]),
            },
            "package.json" => package_json(text, beside),
            "pyproject.toml" => Self {
                name: toml_text(text, "project", "name")
                    .or_else(|| toml_text(text, "tool.poetry", "name")),
                description: toml_text(text, "project", "description")
                    .or_else(|| toml_text(text, "tool.poetry", "description")),
                commands: commands(if beside.iter().any(|file| file == "uv.lock") {
                    &["uv sync"]
                } else if beside.iter().any(|file| file == "poetry.lock") {
                    &["poetry install"]
                } else {
                    &["pip install -e ."]
                }),
            },
            "go.mod" => Self {
                name: text
                    .lines()
                    .find_map(|line| line.trim().strip_prefix("module "))
                    .map(|module| prose::clean(module.trim())),
                description: None,
                commands: commands(&["go build ./...", "go test ./..."]),
            },
            "CMakeLists.txt" => Self {
                commands: commands(&["cmake -B build", "cmake --build build"]),
                ..Self::default()
            },
            "pom.xml" => Self { commands: commands(&["mvn package"]), ..Self::default() },
            "build.gradle" | "build.gradle.kts" => {
                let wrapper = beside.iter().any(|file| file == "gradlew");
                let command = if wrapper { "./gradlew build" } else { "gradle build" };
                Self { commands: commands(&[command]), ..Self::default() }
            }
            _ => makefile(text),
        }
    }
}

fn package_json(text: &str, beside: &[String]) -> Manifest {
    let Ok(package) = serde_json::from_str::<Value>(text) else {
        return Manifest::default();
    };
    let member = |name| package.get(name).and_then(Value::as_str).map(prose::clean);
    let has = |file: &str| beside.iter().any(|name| name == file);
    let tool = if has("pnpm-lock.yaml") {
        "pnpm"
    } else if has("yarn.lock") {
        "yarn"
    } else if has("bun.lock") || has("bun.lockb") {
        "bun"
    } else {
        "npm"
    };
    let scripts = ["build", "test", "start"].into_iter().filter(|script| {
        package.get("scripts").and_then(|scripts| scripts.get(script)).is_some_and(Value::is_string)
    });
    let commands = std::iter::once(format!("{tool} install"))
        .chain(scripts.map(|script| format!("{tool} run {script}")))
        .collect();
    Manifest { name: member("name"), description: member("description"), commands }
}

/// `make`, and the targets that people look for.
fn makefile(text: &str) -> Manifest {
    let is_target = |target: &str| {
        text.lines().any(|line| {
            line.strip_prefix(target).is_some_and(|rest| rest.trim_start().starts_with(':'))
        })
    };
    let targets = ["test", "check", "install"].into_iter().filter(|target| is_target(target));
    let commands = std::iter::once("make".to_owned())
        .chain(targets.map(|target| format!("make {target}")))
        .collect();
    Manifest { commands, ..Manifest::default() }
}

/// A text in a table of a TOML file. Only what stands on one line is read; a whole parser would be
/// too much for two words.
fn toml_text(text: &str, table: &str, key: &str) -> Option<String> {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            inside = header.split(']').next().is_some_and(|name| name.trim() == table);
        } else if inside
            && let Some((name, value)) = line.split_once('=')
            && name.trim() == key
        {
            let value = value.trim();
            let quote = value.chars().next().filter(|c| ['"', '\''].contains(c))?;
            let value = value.strip_prefix(quote)?.split(quote).next()?;
            return (!value.is_empty()).then(|| prose::clean(value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_commands_are_read_from_manifests() {
        let cargo = "[workspace]\nname = \"no\"\n[package]\nname = \"yes\" # x\ndescription='d'\n";
        let manifest = Manifest::of("Cargo.toml", cargo, &[]);
        assert_eq!(manifest.name.as_deref(), Some("yes"));
        assert_eq!(manifest.description.as_deref(), Some("d"));

        let npm = r#"{"name": "web", "scripts": {"test": "vitest", "lint": "x", "start": 5}}"#;
        let manifest = Manifest::of("package.json", npm, &["pnpm-lock.yaml".to_owned()]);
        assert_eq!(manifest.name.as_deref(), Some("web"));
        assert_eq!(manifest.commands, ["pnpm install", "pnpm run test"]);

        let make = Manifest::of("Makefile", "all:\n\ttrue\ntest: all\n", &[]);
        assert_eq!(make.commands, ["make", "make test"]);
        assert_eq!(Manifest::of("go.mod", "module a/b\n", &[]).name.as_deref(), Some("a/b"));
    }

    #[test]
    fn broken_manifests_say_nothing() {
        assert_eq!(Manifest::of("package.json", "{", &[]), Manifest::default());
        assert_eq!(Manifest::of("Cargo.toml", "[package\nname=\n", &[]).name, None);
    }
}
