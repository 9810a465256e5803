//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use mia_api::{ConversationId, PermissionPolicy, ResumePoint, TaskId};

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
    /// Run everything in this process, without the daemon
    #[arg(long, global = true)]
    pub(crate) no_daemon: bool,
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
    /// Show a task's answer, from its beginning and as it goes on
    Watch(Watch),
    /// List what waits and runs
    Tasks {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// End tasks
    Abort(AbortArgs),
    /// What was asked, and what came of it
    Log(LogArgs),
    /// Tokens and money, by agent and model
    Usage(UsageArgs),
    /// See, name and delete conversations
    Conversation(ConversationArgs),
    /// Forget agents' sessions that nobody goes on with
    Gc(GcArgs),
    /// Start the daemon, unless it runs
    Start,
    /// Stop the daemon, once what runs has ended
    Stop(StopArgs),
    /// Stop the daemon and start it again
    Restart(StopArgs),
    /// Tell how the daemon is
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what the daemon has to say
    Logs(LogsArgs),
    /// Run the daemon in the foreground
    Serve {
        /// As `start` runs it
        #[arg(long, hide = true)]
        background: bool,
    },
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
    /// Leave the task to the daemon and print its id; `watch` shows its answer
    #[arg(long, conflicts_with = "attached")]
    pub(crate) detach: bool,
    /// Abort the task when this command ends in whatever way, also when it is killed
    #[arg(long)]
    pub(crate) attached: bool,
    /// The task's id: the same one again is answered once [default: a fresh one]
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<TaskId>,
}

/// Show a task's answer, from its beginning and as it goes on.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The task
    pub(crate) task: TaskId,
    /// Abort the task when this command ends before it does
    #[arg(long)]
    pub(crate) attached: bool,
    /// Print events, one JSON object a line, instead of the answer
    #[arg(long)]
    pub(crate) json: bool,
    /// With --json, only what comes after this place: SEQ, or SEQ:OFFSET after text
    #[arg(long, value_name = "PLACE", requires = "json")]
    pub(crate) after: Option<ResumePoint>,
}

#[derive(Debug, Args)]
pub(crate) struct AbortArgs {
    /// The tasks
    #[arg(required_unless_present = "all")]
    pub(crate) tasks: Vec<TaskId>,
    /// Everything that waits or runs; what waits first
    #[arg(long, conflicts_with = "tasks")]
    pub(crate) all: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Since when
    #[arg(value_enum, default_value_t = Period::Week)]
    pub(crate) period: Period,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Some time until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Period {
    /// Since midnight
    Today,
    /// The last seven days
    Week,
    /// All that is on record
    All,
}

#[derive(Debug, Args)]
pub(crate) struct ConversationArgs {
    #[command(subcommand)]
    pub(crate) action: ConversationAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConversationAction {
    /// List conversations, the newest first
    List {
        /// At most this many
        #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
        limit: u32,
        /// Only those of this folder
        #[arg(long)]
        here: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a conversation: what was asked, and what was answered
    Show {
        /// The conversation
        id: ConversationId,
        /// At most this many of its last tasks
        #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
        limit: u32,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a conversation a name, or take it away
    Rename {
        /// The conversation
        id: ConversationId,
        /// Its name; without one it is told by its first prompt again
        name: Option<String>,
    },
    /// Delete conversations with all that is on record of them; agents forget them, too
    Delete {
        /// The conversations
        #[arg(required = true)]
        ids: Vec<ConversationId>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Forget agents' sessions that were not used for this long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30d")]
    pub(crate) max_age: Duration,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Interrupt what runs instead of waiting for it
    #[arg(long)]
    pub(crate) now: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Print what comes, too, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// At most this many lines of what there is
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    pub(crate) lines: usize,
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
    /// Only those since then: 90m, 2d, or a date such as 2026-11-30
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<i64>,
    /// Tell all about one task: its attempts and tools, each with its time
    #[arg(long, value_name = "TASK", conflicts_with_all = ["failed", "plugin", "conversation", "grep", "since"])]
    pub(crate) trace: Option<TaskId>,
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

/// A moment in unix milliseconds, given as a time before now or as a date (its midnight, UTC).
fn since(text: &str) -> Result<i64, String> {
    crate::time::moment(text)
}

fn duration(text: &str) -> Result<Duration, String> {
    mia_config::parse_duration(text)
}
