//! `mia plugin install`, `upgrade` and `uninstall`: agents from npm, in Mia's own folder (M-10).
//!
//! A version is built in a folder beside the others, and becomes the one that is run, in one step,
//! once it was seen to start. Killed at any point, the old one is the one that is run, and the next
//! installation removes what was left.
//!
//! | file | what |
//! |---|---|
//! | `command`, `upgrade`, `uninstall` | the three commands |
//! | `build` | from nothing to a version that starts |
//! | `npm` | running npm, and what its failures mean |
//! | `node` | whether an agent needs a node of its own |
//! | `record` | what is installed |
//! | `lock` | one at a time |
//! | `version` | what may be asked for |
//! | `sweep` | removing what is not run any more |
//! | `progress` | what is told while it lasts |

mod build;
mod command;
mod lock;
mod node;
mod npm;
mod progress;
mod record;
mod sweep;
mod uninstall;
mod upgrade;
mod version;

#[cfg(test)]
mod tests;

pub(crate) use command::{Manner, install};
pub(crate) use uninstall::uninstall;
pub(crate) use upgrade::upgrade;
