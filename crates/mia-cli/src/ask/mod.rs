//! `mia ask`: one prompt, its answer on stdout, everything else on stderr.
//!
//! [`run`] reads what is asked; [`follow`] shows what comes of it; [`relay`] stands between the task
//! and the screen, so that Ctrl-C works also while nobody reads the answer.

mod follow;
mod json;
mod prompt;
mod question;
mod relay;
mod run;
mod text;

pub(crate) use run::{environment, run, watch};
