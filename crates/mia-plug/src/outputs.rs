//! What plugs publish to later ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

/// The largest value, in bytes of JSON.
const LARGEST: usize = 64 * 1024;

/// Why an output was not taken.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It can't be JSON.
    #[error("the output {name} can't be JSON: {source}")]
    NotJson {
        /// The output.
        name: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// It is too large.
    #[error("the output {name} has {bytes} bytes, and may have {LARGEST}")]
    TooLarge {
        /// The output.
        name: String,
        /// Its size as JSON.
        bytes: usize,
    },
}

/// Outputs of earlier plugs, by the plugs' ids and the outputs' names. A cheap handle; it never changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outputs(Arc<BTreeMap<String, BTreeMap<String, Value>>>);

impl Outputs {
    /// The output of the plug with that id.
    #[must_use]
    pub fn get(&self, id: &str, name: &str) -> Option<&Value> {
        self.0.get(id)?.get(name)
    }

    /// The ids of plugs that have published something, each with all of that.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, Value>)> {
        self.0.iter().map(|(id, values)| (id.as_str(), values))
    }

    /// These, and those of one more plug.
    #[must_use]
    pub fn with(&self, id: &str, values: BTreeMap<String, Value>) -> Self {
        if values.is_empty() {
            return self.clone();
        }
        let mut all = BTreeMap::clone(&self.0);
        all.entry(id.to_owned()).or_default().extend(values);
        Self(Arc::new(all))
    }
}

/// A value as it is published.
pub(crate) fn value(name: &str, value: &impl Serialize) -> Result<Value, OutputError> {
    let failed = |source| OutputError::NotJson { name: name.to_owned(), source };
    let value = serde_json::to_value(value).map_err(failed)?;
    let bytes = serde_json::to_vec(&value).map_err(failed)?.len();
    if bytes > LARGEST {
        return Err(OutputError::TooLarge { name: name.to_owned(), bytes });
    }
    Ok(value)
}
