//! What only Gemini CLI does, or does in its own way.

mod ending;
mod permissions;
mod prompts;
mod trust;

type World = crate::world::World<mia_agents::Gemini>;

/// The settings of the user's home, with these members more.
fn settings(world: &World, more: serde_json::Value) {
    let file = world.home.home().join(".gemini/settings.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut all: serde_json::Value = serde_json::from_str(&text).unwrap();
    merge(&mut all, more);
    std::fs::write(file, all.to_string()).unwrap();
}

fn merge(into: &mut serde_json::Value, more: serde_json::Value) {
    match (into, more) {
        (serde_json::Value::Object(into), serde_json::Value::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name).or_insert(serde_json::Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}
