//! The manifests in the user's own folder, as plugins. A project's folder is never read for them: a
//! cloned repository must not name programs to run.

use std::path::Path;

use mia_config::ConfigErrors;
use mia_core::{BrokenPlugin, Registry, RegistryError};
use mia_manifest::{Manifest, ManifestAdapter};

/// Registers all manifests of a folder. One that can't be used is noted with the reason.
pub(crate) fn register(registry: &mut Registry, folder: &Path) {
    for found in mia_manifest::load(folder) {
        let file = found.file.display();
        let (problem, hint) =
            match found.manifest.map(|manifest| add(registry, &found.name, manifest)) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => {
                    (format!("{file}: {}", unusable(&error)), "rename the file".to_owned())
                }
                Err(mistakes) => {
                    (first(&mistakes), format!("see all of it with: mia plugin check {file}"))
                }
            };
        registry.report(BrokenPlugin {
            name: found.name,
            version: ManifestAdapter::VERSION.to_owned(),
            problem,
            hint,
        });
    }
}

/// Makes a manifest a plugin of that name.
pub(crate) fn add(
    registry: &mut Registry,
    name: &str,
    manifest: Manifest,
) -> Result<(), RegistryError> {
    registry.register(name, ManifestAdapter::plugin(manifest))
}

/// Why a name can't be had, about a file.
pub(crate) fn unusable(error: &RegistryError) -> String {
    match error {
        RegistryError::Taken(name) => format!("there is another plugin named {name:?} already"),
        other => other.to_string(),
    }
}

fn first(mistakes: &ConfigErrors) -> String {
    let first = mistakes.list().first().map(ToString::to_string).unwrap_or_default();
    match mistakes.list().len() {
        ..=1 => first,
        2 => format!("{first}; and 1 more mistake"),
        more => format!("{first}; and {} more mistakes", more - 1),
    }
}
