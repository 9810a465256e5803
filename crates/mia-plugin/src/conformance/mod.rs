//! The suite that every plugin has to pass, built in or not (M-01).
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use mia_plugin::conformance::{self, Prompt, Subject};
//! # async fn example(plugin: fn() -> Arc<dyn mia_plugin::CodingPlugin>, supervisor: mia_host::Supervisor) {
//! let subject = Subject {
//!     answer: Prompt::new("say hello", "hello"),
//!     remember: Some("the word is kiwi".to_owned()),
//!     recall: Prompt::new("which word?", "kiwi"),
//!     busy: "count to a million".to_owned(),
//!     tool: Some("list the files".to_owned()),
//!     ..Subject::new(Box::new(plugin), supervisor, "/the/work/folder".into())
//! };
//! conformance::check(&subject).await.unwrap();
//! # }
//! ```

mod cases;
mod run;
mod sessions;
mod subject;

pub use cases::{Broken, check};
pub use sessions::InMemorySessions;
pub use subject::{Prompt, Subject};
