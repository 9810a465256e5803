//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use mia_api::{ConversationId, PermissionPolicy};

/// Talk to any coding agent: one steady way for all of them.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit status: 0 ok · 1 an agent was asked and failed · 2 usage or configuration · \
                  3 no agent could be started · 130 Ctrl-C"
)]
pub(crate) struct Cli {
    /// Nothing on stderr but errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The `clap` command of a Mia with that name, for completions and manual pages.
#[must_use]
pub fn command(name: &'static str) -> clap::Command {
    Cli::command().name(name).bin_name(name).mut_subcommand("ask", |ask| {
        ask.after_help(format!(
            "\
Examples:
  {name} ask \"explain this repo\"
  git diff | {name} ask review this: -
  {name} ask --continue \"and now the tests\"
  {name} ask --plugin guide \"what is this repository?\"   # needs no agent"
        ))
        .mut_arg("plugin", |plugin| {
            plugin.help(format!("The agent to ask; see `{name} plugin list`"))
        })
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask an agent, and stream its answer
    Ask(Box<Ask>),
    /// See, choose and try agents
    Plugin(PluginArgs),
    /// See and change the configuration
    Config(ConfigArgs),
    /// What was asked, and what came of it
    Log(LogArgs),
    /// Look whether everything that Mia needs is there and works
    ///
    /// Changes nothing. Exit status 1 when something keeps Mia, or the agent that is asked, from
    /// working.
    Doctor {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, of a command if one is named
    Man {
        /// The command, such as ask or plugin install
        command: Option<Vec<String>>,
    },
}

/// Ask an agent, and stream its answer.
///
/// The answer, and nothing else, goes to stdout. Tools, questions and notices go to stderr.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// What to ask; `-` stands for stdin, and without words stdin is read
    #[arg(value_name = "PROMPT")]
    pub(crate) words: Vec<String>,
    /// The agent to ask
    #[arg(long, short, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
    /// Ask the configured fallbacks, too, when the agent named with --plugin fails
    #[arg(long, overrides_with = "no_fallback")]
    pub(crate) fallback: bool,
    /// Ask no other agent when the first one fails
    #[arg(long, overrides_with = "fallback")]
    pub(crate) no_fallback: bool,
    /// The model, in the agent's own words
    #[arg(long, short)]
    pub(crate) model: Option<String>,
    /// Where the agent works
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Give up after this long: 90s, 20m, 1h30m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// Go on with the conversation of this name, or begin it
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub(crate) conversation: Option<ConversationId>,
    /// Go on with the last conversation of this folder
    #[arg(long = "continue", short = 'c')]
    pub(crate) continue_last: bool,
    /// Hand a file over with the prompt; may be given again
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Vec<PathBuf>,
    /// Hand a picture over with the prompt (PNG, JPEG, GIF, WebP); may be given again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) image: Vec<PathBuf>,
    /// What the agent may do without asking [default: the agent's own rules]
    #[arg(long, value_name = "POLICY", value_parser = policy())]
    pub(crate) permissions: Option<PermissionPolicy>,
    /// Print events, one JSON object a line, instead of the answer
    #[arg(long)]
    pub(crate) json: bool,
    /// Run everything in this process (there is no daemon yet, so it always does)
    #[arg(long)]
    pub(crate) no_daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) action: PluginAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginAction {
    /// List the agents that Mia knows
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell all about one agent
    Info {
        /// The agent
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Make an agent the one that is asked
    Switch {
        /// The agent
        name: String,
    },
    /// Install an agent from npm into Mia's own folder
    #[command(disable_version_flag = true)]
    Install {
        /// The agent, or AGENT@VERSION
        name: String,
        /// Another version than the one that this Mia was made for; a tag such as latest, too
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
        /// Give up after this long
        #[arg(long, value_name = "TIME", value_parser = duration, default_value = "15m")]
        timeout: Duration,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring agents that Mia installed to the version that it was made for
    #[command(disable_version_flag = true)]
    Upgrade {
        /// The agents [default: all that Mia installed]
        names: Vec<String>,
        /// Another version; a tag such as latest, too
        #[arg(long, value_name = "VERSION", requires = "names")]
        version: Option<String>,
        /// Give up after this long, for each
        #[arg(long, value_name = "TIME", value_parser = duration, default_value = "15m")]
        timeout: Duration,
        /// As JSON: one array
        #[arg(long)]
        json: bool,
    },
    /// Remove an agent that Mia installed
    Uninstall {
        /// The agent
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell what is wrong with the manifest of a plugin, and what it makes of recorded output
    Check {
        /// The manifest
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Run what an agent printed through it, and print the events; `-` stands for stdin
        #[arg(long, value_name = "RECORDED", value_hint = ValueHint::FilePath)]
        replay: Option<PathBuf>,
        /// As JSON; with --replay the events, one a line
        #[arg(long)]
        json: bool,
    },
    /// Ask an agent for one word, to see that it works (costs a few tokens)
    Test {
        /// The agent [default: the one that is asked]
        name: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print a value, or all values below a key
    Get {
        /// A dotted key, such as plugins.claude-code.model
        key: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a value in the configuration file
    Set {
        /// A dotted key
        key: String,
        /// Its new value, as YAML
        #[arg(required_unless_present = "unset", allow_hyphen_values = true)]
        value: Option<String>,
        /// Take the key out of the file instead
        #[arg(long, conflicts_with = "value")]
        unset: bool,
    },
    /// Tell every value in force and where it comes from
    Explain {
        /// Only what is below this key
        key: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// At most this many, newest first
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    pub(crate) limit: u32,
    /// Only those that failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only those of an agent
    #[arg(long, short, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
    /// Only those of a conversation
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Only those whose prompt or error has this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) grep: Option<String>,
    /// As JSON: one array
    #[arg(long)]
    pub(crate) json: bool,
}

fn policy() -> impl clap::builder::TypedValueParser<Value = PermissionPolicy> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(["read-only", "edit", "full"])
        .try_map(|text| text.parse::<PermissionPolicy>())
}

fn duration(text: &str) -> Result<Duration, String> {
    mia_config::parse_duration(text)
}
