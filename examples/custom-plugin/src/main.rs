//! A Mia of your own. The binary is called `acme`; it has the built-in plugins and two more.
//!
//! ```sh
//! export PATH="$PWD/examples/custom-plugin/bin:$PATH"   # where the agent `jot` is
//! cargo run -p custom-plugin -- ask --plugin jot "write this down"
//! cargo run -p custom-plugin -- ask --plugin loud "write this down"
//! ```

mod jot;
mod loud;

use std::process::ExitCode;

use mia_cli::Program;
use mia_plugin::SpawnPlugin;

fn main() -> ExitCode {
    mia_cli::run(Program::new("acme").with_plugins(|registry| {
        registry.register("jot", SpawnPlugin::new("jot", "1.0.0", jot::Jot))?;
        registry.register("loud", loud::Loud::default())
    }))
}
