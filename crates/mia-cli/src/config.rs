//! `mia config`: see and change the configuration.

use std::process::ExitCode;

use mia_config::{Found, Setting};

use crate::args::ConfigAction;
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::Program;
use crate::setup;
use crate::table::aligned;
use crate::terminal::write;

pub(crate) fn run(program: &Program, action: ConfigAction) -> Result<ExitCode, Failure> {
    let paths = setup::paths()?;
    match action {
        ConfigAction::Get { key, json } => match setup::config(&paths)?.get(&key)? {
            Found::Value(setting) if json => print_json(&setting),
            Found::Section(settings) if json => print_json(&settings),
            Found::Value(setting) => print(format!("{}\n", setting.value).as_bytes()),
            Found::Section(settings) => {
                let rows: Vec<_> =
                    settings.into_iter().map(|s| vec![s.key, s.value.to_string()]).collect();
                print(aligned(&rows).as_bytes())
            }
        },
        ConfigAction::Set { key, value, .. } => {
            let file = &paths.config_file;
            let edited = match value {
                Some(value) => mia_config::set(file, &key, &value)?,
                None => mia_config::unset(file, &key)?,
            };
            let what = if edited.changed { "changed" } else { "is so already" };
            let printed =
                print(format!("{} {what} in {}\n", edited.key, edited.file.display()).as_bytes());
            // A plugin may come later, so this is no error.
            let loaded = setup::config(&paths)?;
            for (key, error) in program.registry(&paths)?.unknown_names(&loaded.config) {
                if edited.key.starts_with(&key) {
                    write(&format!("{}: {error}\n", program.name));
                }
            }
            printed
        }
        ConfigAction::Explain { key, json } => {
            let loaded = setup::config(&paths)?;
            let registry = program.registry(&paths)?;
            let settings = match key {
                None => loaded.explain(&registry.names().collect::<Vec<_>>()),
                Some(key) => match loaded.get(&key)? {
                    Found::Value(setting) => vec![setting],
                    Found::Section(settings) => settings,
                },
            };
            if json {
                return print_json(&settings);
            }
            print(explained(&settings).as_bytes())
        }
    }
}

/// Two lines a key: its value and where it comes from, then what it does.
fn explained(settings: &[Setting]) -> String {
    let mut text = String::new();
    for setting in settings {
        let Setting { key, value, origin, about } = setting;
        text.push_str(&format!("{key}: {value}  ({origin})\n    {about}\n"));
    }
    text
}
