//! From the configuration to what a plugin is given.

use mia_config::{Config, Inherit as Inherited};
use mia_plugin::{Inherit, PluginConfig};

/// The settings of one plugin, with what the configuration says for all of them.
pub(crate) fn plugin_config(config: &Config, name: &str) -> PluginConfig {
    let settings = config.plugin(name);
    PluginConfig {
        name: settings.name,
        enabled: settings.enabled,
        binary: settings.binary,
        model: settings.model,
        max_concurrency: usize::try_from(settings.max_concurrency).unwrap_or(usize::MAX),
        timeout: settings.timeout,
        stall_timeout: settings.stall_timeout,
        tool_timeout: settings.tool_timeout,
        args: settings.args,
        env: settings.env,
        pass_env: settings.pass_env,
        inherit: match settings.inherit {
            Inherited::AllButSecrets => Inherit::AllButSecrets,
            Inherited::Minimal => Inherit::Minimal,
        },
        api_url: settings.api_url,
        max_line: config.streams.max_line,
        stderr_tail: config.streams.stderr_tail,
        keep_background: config.streams.keep_background,
    }
}
