//! Documents that are generated, and the check that they are up to date.

use std::fs;

use crate::Failure;
use crate::agents;
use crate::clauses;
use crate::outcome::Outcome;
use crate::repository::Repository;

/// A generated document.
#[derive(Clone, Copy)]
pub(crate) struct Document {
    path: &'static str,
    generate: fn(&Repository) -> Result<String, Failure>,
}

/// Which test proves which clause.
pub(crate) const CLAUSES: Document = Document {
    path: "docs/clauses.md",
    generate: |repository| Ok(clauses::Coverage::read(repository)?.to_markdown()),
};

/// Every key of the configuration.
const CONFIG: Document =
    Document { path: "docs/config.md", generate: |_| Ok(mia_config::reference()) };

/// What every agent does.
const AGENTS: Document = Document { path: "docs/agents.md", generate: agents::document };

/// How a manifest is written, and every key of one. The first part is written by hand.
const MANIFEST: Document = Document {
    path: "docs/manifest.md",
    generate: |repository| {
        let taught = fs::read_to_string(repository.path("docs/manifest.md"))?;
        Ok(mia_manifest::reference(&taught))
    },
};

/// The JSON Schema of a manifest, for editors.
const MANIFEST_SCHEMA: Document =
    Document { path: "docs/plugin-manifest.schema.json", generate: |_| Ok(mia_manifest::schema()) };

/// The daemon's API.
pub(crate) const OPENAPI: Document = Document {
    path: "docs/openapi.json",
    generate: |_| Ok(mia_api::schema::to_text(&mia_daemon::openapi())?),
};

/// All of them.
pub(crate) const ALL: [Document; 6] = [AGENTS, CLAUSES, CONFIG, MANIFEST, MANIFEST_SCHEMA, OPENAPI];

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a file is not up to date or a claimed clause has no test
    #[arg(long)]
    check: bool,
}

/// Writes documents, or checks them. True when all is well.
pub(crate) fn run(
    repository: &Repository,
    args: Args,
    documents: &[Document],
) -> Result<bool, Failure> {
    if args.check {
        let outcome = check(repository, documents)?;
        print!("{}", outcome.output);
        println!("{}", outcome.counts);
        return Ok(outcome.counts.failed == 0);
    }
    for document in documents {
        for note in write(repository, document)?.notes {
            println!("{note}");
        }
    }
    let problems = problems(repository)?;
    for problem in &problems {
        println!("{problem}");
    }
    Ok(problems.is_empty())
}

/// Writes a document where it is not up to date.
pub(crate) fn write(repository: &Repository, document: &Document) -> Result<Outcome, Failure> {
    let text = (document.generate)(repository)?;
    let path = repository.path(document.path);
    let note = if fs::read_to_string(&path).is_ok_and(|old| old == text) {
        format!("{} is up to date", document.path)
    } else {
        fs::write(&path, text)?;
        format!("{} written", document.path)
    };
    Ok(Outcome { notes: vec![note], ..Outcome::passed() })
}

/// Checks that a document is up to date.
pub(crate) fn up_to_date(repository: &Repository, document: &Document) -> Result<Outcome, Failure> {
    let text = (document.generate)(repository)?;
    let old = fs::read_to_string(repository.path(document.path)).unwrap_or_default();
    let stale = format!("{} is not up to date: run `cargo xtask docs`", document.path);
    Ok(verdict(if old == text { String::new() } else { stale }))
}

/// Checks that every claimed clause has a test, and that the documents are up to date.
pub(crate) fn check(repository: &Repository, documents: &[Document]) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let problems = problems(repository)?;
    outcome.add(verdict(problems.join("\n")));
    for document in documents {
        outcome.add(up_to_date(repository, document)?);
    }
    Ok(outcome)
}

/// What the sources claim and don't keep.
fn problems(repository: &Repository) -> Result<Vec<String>, Failure> {
    let mut problems = clauses::Coverage::read(repository)?.problems();
    problems.extend(agents::problems(repository)?);
    Ok(problems)
}

fn verdict(problem: String) -> Outcome {
    if problem.is_empty() { Outcome::passed() } else { Outcome::failed(problem + "\n") }
}

/// The group of `cargo xtask test`.
pub(crate) fn check_all(repository: &Repository) -> Result<Outcome, Failure> {
    check(repository, &ALL)
}
