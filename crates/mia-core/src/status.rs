//! Plugins and their agents as clients see them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mia_api::PluginStatus;
use mia_plugin::{Environment, Probe};
use tokio::sync::Semaphore;

use crate::plugins::Plugins;
use crate::registry::{BrokenPlugin, RegistryError};

/// How many agents are asked for their versions at the same time: each takes a process and some
/// descriptors.
const AT_ONCE: usize = 8;

impl Plugins {
    /// Every plugin by name, with the agent that somebody with this environment finds.
    pub async fn statuses(&self, environment: &Environment) -> Vec<PluginStatus> {
        let active = self.active_name(environment);
        let mut statuses = Vec::new();
        for (name, probe) in self.probe_all(environment).await {
            statuses.extend(self.status_of(&name, probe, active.as_deref()));
        }
        statuses.extend(self.registry().broken().iter().map(broken));
        statuses.sort_by(|one, other| one.name.cmp(&other.name));
        statuses
    }

    /// One plugin, its agent asked for its version.
    ///
    /// # Errors
    /// When there is no such plugin.
    pub async fn status(
        &self,
        name: &str,
        environment: &Environment,
    ) -> Result<PluginStatus, RegistryError> {
        match self.registry().get(name) {
            Err(RegistryError::Broken(plugin)) => return Ok(broken(&plugin)),
            found => found?,
        };
        let probe = self.probe(name, environment).await?;
        self.status_of(name, probe, self.active_name(environment).as_deref())
    }

    /// Asks the agents of all plugins for their versions, a few at a time.
    pub async fn probe_all(&self, environment: &Environment) -> Vec<(String, Probe)> {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let names: Vec<_> = self.registry().names().map(str::to_owned).collect();
        let tasks = names.into_iter().map(|name| {
            let (plugins, turns, asked) = (self.clone(), Arc::clone(&turns), name.clone());
            let environment = environment.clone();
            let task = tokio::spawn(async move {
                let _turn = turns.acquire().await;
                plugins.probe(&asked, &environment).await
            });
            (name, task)
        });
        let mut probes = Vec::new();
        for (name, task) in tasks.collect::<Vec<_>>() {
            let failed = |problem: String| Probe { problem: Some(problem), ..Probe::default() };
            let probe = match task.await {
                Ok(Ok(probe)) => probe,
                Ok(Err(error)) => failed(error.to_string()),
                Err(_) => failed("it panicked".to_owned()),
            };
            probes.push((name, probe));
        }
        probes
    }

    /// The plugin that is asked when none is named.
    fn active_name(&self, environment: &Environment) -> Option<String> {
        let plugin = self.choose(None, environment, Path::new("/")).ok()?;
        Some(plugin.name().to_owned())
    }

    fn status_of(
        &self,
        name: &str,
        probe: Probe,
        active: Option<&str>,
    ) -> Result<PluginStatus, RegistryError> {
        let plugin = self.registry().get(name)?;
        let enabled = self.is_enabled(name);
        let fallback = self.config().fallback.plugins.iter().position(|other| other == name);
        Ok(PluginStatus {
            name: name.to_owned(),
            version: plugin.version().to_owned(),
            active: active == Some(name),
            fallback: fallback.and_then(|place| u32::try_from(place + 1).ok()),
            enabled,
            // One that is disabled is not looked for.
            available: enabled && probe.problem.is_none(),
            agent_version: probe.version,
            binary: probe.binary.map(|path| path.display().to_string()),
            found_by: probe.found_by.map(str::to_owned),
            problem: probe.problem,
            hint: probe.hint,
            running: u64::try_from(plugin.running_task_count()).unwrap_or(u64::MAX),
            max_concurrency: self.config().plugin(name).max_concurrency.into(),
            resting_ms: None,
            lacks: plugin.lacks(),
            own_rules: plugin.own_rules(),
            broken: false,
        })
    }
}

/// A manifest that can't be used.
fn broken(plugin: &BrokenPlugin) -> PluginStatus {
    PluginStatus {
        name: plugin.name.clone(),
        version: plugin.version.clone(),
        active: false,
        fallback: None,
        enabled: true,
        available: false,
        agent_version: None,
        binary: None,
        found_by: None,
        problem: Some(plugin.problem.clone()),
        hint: Some(plugin.hint.clone()),
        running: 0,
        max_concurrency: 0,
        resting_ms: None,
        lacks: Vec::new(),
        own_rules: None,
        broken: true,
    }
}

/// A rest as clients see it.
pub(crate) fn rest_in_ms(rest: Duration) -> u64 {
    u64::try_from(rest.as_millis()).unwrap_or(u64::MAX)
}
