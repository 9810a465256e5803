//! The methods of ACP v1.

use std::fmt;

macro_rules! methods {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $text:literal $answered:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The method of that name, if it is one.
            #[must_use]
            pub fn of(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its name on the wire.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// True for a request, false for a notification.
            #[must_use]
            pub fn is_answered(self) -> bool {
                match self {
                    $(Self::$variant => $answered,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

methods! {
    /// What a client says to an agent.
    AgentMethod {
        /// The first request: versions and capabilities.
        Initialize "initialize" true,
        /// Signs in.
        Authenticate "authenticate" true,
        /// Signs out.
        Logout "logout" true,
        /// Begins a session.
        SessionNew "session/new" true,
        /// Goes on with a session and tells what was said in it.
        SessionLoad "session/load" true,
        /// Goes on with a session.
        SessionResume "session/resume" true,
        /// Asks for something.
        SessionPrompt "session/prompt" true,
        /// Ends the turn.
        SessionCancel "session/cancel" false,
        /// Chooses a mode.
        SessionSetMode "session/set_mode" true,
        /// Chooses the value of an option.
        SessionSetConfigOption "session/set_config_option" true,
        /// Lists sessions.
        SessionList "session/list" true,
        /// Removes a session.
        SessionDelete "session/delete" true,
        /// Ends a session.
        SessionClose "session/close" true,
    }
}

methods! {
    /// What an agent says to a client.
    ClientMethod {
        /// Something of a turn: text, tools, plans, usage.
        SessionUpdate "session/update" false,
        /// Asks for a permission.
        SessionRequestPermission "session/request_permission" true,
        /// Reads a file.
        FsReadTextFile "fs/read_text_file" true,
        /// Writes a file.
        FsWriteTextFile "fs/write_text_file" true,
        /// Runs a command.
        TerminalCreate "terminal/create" true,
        /// What a command has printed.
        TerminalOutput "terminal/output" true,
        /// Gives a command up.
        TerminalRelease "terminal/release" true,
        /// Waits for a command's end.
        TerminalWaitForExit "terminal/wait_for_exit" true,
        /// Kills a command.
        TerminalKill "terminal/kill" true,
        /// Asks a person for something.
        ElicitationCreate "elicitation/create" true,
        /// A person has answered elsewhere.
        ElicitationComplete "elicitation/complete" false,
    }
}
