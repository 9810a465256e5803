//! What the daemon has to say: on stderr, or in a file of bounded size, one line for each thing.

mod line;
mod read;
mod write;

pub use read::Reader;
pub use write::{to_file, to_stderr};
