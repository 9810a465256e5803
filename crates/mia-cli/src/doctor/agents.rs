//! Each plugin and its agent: its program, whether somebody has signed in, what is kept from it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mia_api::Resting;
use mia_core::{NoPlugin, Plugins};
use mia_plugin::{AgentFolder, Environment, Lack, Probe, SignIn};
use serde::Serialize;

use super::check::{Check, Group};
use crate::time::took;

const GROUP: Group = Group::Agents;

/// All that was found out about a plugin.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PluginHealth {
    pub(super) name: String,
    pub(super) enabled: bool,
    /// True for the one that is asked when none is named.
    pub(super) active: bool,
    pub(super) binary: Option<String>,
    pub(super) found_by: Option<&'static str>,
    pub(super) version: Option<String>,
    pub(super) problem: Option<String>,
    pub(super) hint: Option<String>,
    /// None where nobody needs to sign in, and for one that is not installed.
    pub(super) login: Option<SignIn>,
    /// Names of variables that look like secrets.
    pub(super) withheld: Vec<String>,
    pub(super) lacks: Vec<Lack>,
    /// For how much longer the daemon leaves it alone after failures in a row, in ms.
    pub(super) resting_ms: Option<u64>,
}

pub(super) async fn checks(
    program: &str,
    plugins: Plugins,
    environment: &Environment,
    installed: Option<&Path>,
    configured: bool,
) -> (Vec<Check>, Vec<PluginHealth>) {
    let plugins = Arc::new(plugins);
    let chosen = plugins.choose(None, environment, Path::new("/"));
    let active = chosen.as_ref().ok().map(|plugin| plugin.name().to_owned());
    let mut checks = Vec::new();
    if let Err(error) = chosen {
        checks.push(nobody(program, &error));
    } else if !configured {
        let message = "looked at with the defaults, for the configuration can't be read";
        checks.push(Check::info(GROUP, "plugins", message));
    }
    let mut health = Vec::new();
    for (name, probe) in plugins.probe_all(environment).await {
        let active = active.as_deref() == Some(&name);
        let one = look(&plugins, name, probe, active, environment, installed);
        checks.extend(judged(&one));
        health.push(one);
    }
    (checks, health)
}

fn nobody(program: &str, error: &NoPlugin) -> Check {
    let name = "asked by default";
    match error {
        NoPlugin::NoneInstalled { .. } => {
            let hint = format!("{program} plugin install NAME; see: {program} plugin list");
            Check::failure(GROUP, name, error.to_string(), hint)
        }
        NoPlugin::Registry(_) | NoPlugin::Refuses(_) => {
            let hint = format!("choose another: {program} plugin switch NAME");
            Check::failure(GROUP, name, error.to_string(), hint)
        }
    }
}

fn look(
    plugins: &Plugins,
    name: String,
    probe: Probe,
    active: bool,
    environment: &Environment,
    installed: Option<&Path>,
) -> PluginHealth {
    let enabled = plugins.is_enabled(&name);
    let plugin = plugins.registry().get(&name).ok();
    // Of one that is not installed nobody wants to know more.
    let there = plugin.filter(|_| enabled && probe.binary.is_some());
    let mut login = there.and_then(|plugin| plugin.sign_in(environment));
    if let (Some(login), Some(agents), Some(binary)) = (&mut login, installed, &probe.binary)
        && probe.found_by == Some("installed by mia")
        && let Some(program) = binary.file_name()
    {
        // What Mia installed is not on the PATH of who is told to run it.
        let path = AgentFolder::new(agents, &name).link().join("bin").join(program);
        let (program, path) = (Path::new(program).display(), path.display());
        login.hint.push_str(&format!("; {program} is not on the PATH, but {path}"));
    }
    PluginHealth {
        enabled,
        active,
        binary: probe.binary.map(|path| path.display().to_string()),
        found_by: probe.found_by,
        version: probe.version,
        problem: probe.problem,
        hint: probe.hint,
        login,
        withheld: there.map(|plugin| plugin.withheld(environment)).unwrap_or_default(),
        lacks: plugin.map(|plugin| plugin.lacks()).unwrap_or_default(),
        resting_ms: None,
        name,
    }
}

/// A plugin that the daemon leaves alone (M-36).
pub(super) fn rests(
    program: &str,
    resting: &Resting,
    plugins: &mut [PluginHealth],
) -> Option<Check> {
    let plugin = plugins.iter_mut().find(|plugin| plugin.name == resting.plugin)?;
    plugin.resting_ms = Some(resting.left_ms);
    let left = took(Duration::from_millis(resting.left_ms));
    let message = format!("left alone for {left} more, for it failed several times in a row");
    let hint = format!("then one prompt tries it again; for the failures: {program} log --failed");
    Some(Check::warning(GROUP, format!("{} breaker", plugin.name), message, hint))
}

fn judged(plugin: &PluginHealth) -> Vec<Check> {
    let PluginHealth { name, active, binary, version, problem, .. } = plugin;
    if !plugin.enabled {
        return vec![Check::info(GROUP, name, "disabled")];
    }
    let mut checks = vec![match problem {
        Some(problem) if *active => Check::failure(GROUP, name, problem, ""),
        // There, and of no use.
        Some(problem) if binary.is_some() => Check::warning(GROUP, name, problem, ""),
        Some(problem) => Check::info(GROUP, name, problem),
        None => {
            let version = version.as_deref().unwrap_or("ready");
            let place = binary.as_ref().map(|binary| {
                let by = plugin.found_by.map(|by| format!(" ({by})")).unwrap_or_default();
                format!(", {binary}{by}")
            });
            let active = if *active { ", asked by default" } else { "" };
            Check::ok(GROUP, name, format!("{version}{}{active}", place.unwrap_or_default()))
        }
    }];
    if let (Some(check), Some(hint)) = (checks.first_mut(), &plugin.hint) {
        check.hint = Some(hint.clone());
    }
    if let Some(login) = &plugin.login {
        let name = format!("{name} login");
        checks.push(match &login.found {
            Some(found) => Check::ok(GROUP, name, found),
            None => {
                let message = format!("none of these is there: {}", login.looked_for.join(", "));
                if *active {
                    Check::warning(GROUP, name, message, &login.hint)
                } else {
                    Check::info(GROUP, name, message).with_hint(&login.hint)
                }
            }
        });
    }
    if !plugin.withheld.is_empty() {
        let message =
            format!("kept from it, for they look like secrets: {}", plugin.withheld.join(", "));
        let hint = format!("plugins.{name}.pass_env passes them on");
        checks.push(Check::info(GROUP, format!("{name} variables"), message).with_hint(hint));
    }
    checks
}
