//! The guide: a small helper in the binary that answers without any agent or model.
//!
//! It is a fixed program and says so. It works as an agent does, by tool calls, permission questions
//! and a session, so that all of Mia can be tried and tested with nothing installed. It reads and
//! never writes, and runs nothing but `git`, read-only.
//!
//! | file | what |
//! |---|---|
//! | `plugin` | [`Guide`] as a `CodingPlugin`: slots, sessions, limits |
//! | `question` | what a prompt asks for |
//! | `session` | what it remembers of a conversation |
//! | `answer` | from a question to its answer |
//! | `overview`, `changes`, `find`, `show`, `help` | the answers |
//! | `talk` | what it says and does, as events |
//! | `stop` | how it is ended early |
//! | `walk`, `text_file`, `place` | reading a folder, a file, a path, whatever they are |
//! | `manifest`, `readme`, `language` | what files say of a project |
//! | `git` | running git |
//! | `prose` | text that reads well on a terminal |

mod answer;
mod changes;
mod find;
mod git;
mod help;
mod language;
mod manifest;
mod overview;
mod place;
mod plugin;
mod prose;
mod question;
mod readme;
mod session;
mod show;
mod stop;
mod talk;
mod text_file;
mod walk;

#[cfg(test)]
mod tests;

pub use plugin::Guide;
