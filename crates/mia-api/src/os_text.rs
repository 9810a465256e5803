//! Paths and variables that need not be UTF-8.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Unexpected;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text of the system: a JSON string where it is UTF-8, else an object with the member `base64`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OsText(pub OsString);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written<'a> {
    Text(std::borrow::Cow<'a, str>),
    Bytes(Encoded),
}

/// Bytes that are no text.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Self")]
struct Encoded {
    base64: String,
}

crate::read::objects!(Encoded);

impl OsText {
    /// As a path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// As a path of its own.
    #[must_use]
    pub fn into_path(self) -> PathBuf {
        self.0.into()
    }
}

impl From<PathBuf> for OsText {
    fn from(path: PathBuf) -> Self {
        Self(path.into())
    }
}

impl From<&Path> for OsText {
    fn from(path: &Path) -> Self {
        Self(path.into())
    }
}

impl From<&OsStr> for OsText {
    fn from(text: &OsStr) -> Self {
        Self(text.into())
    }
}

impl From<OsString> for OsText {
    fn from(text: OsString) -> Self {
        Self(text)
    }
}

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => Written::Text(text.into()),
            None => Written::Bytes(Encoded { base64: STANDARD.encode(self.0.as_bytes()) }),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer).map_err(|_| wrong::<D::Error>())?;
        match written {
            Written::Text(text) => Ok(Self(text.into_owned().into())),
            Written::Bytes(Encoded { base64 }) => {
                let bytes = STANDARD.decode(base64).map_err(|_| wrong::<D::Error>())?;
                Ok(Self(OsString::from_vec(bytes)))
            }
        }
    }
}

/// It is neither. What there is instead is not repeated: it may be a secret.
fn wrong<E: serde::de::Error>() -> E {
    let expected = "a text, or an object whose one member `base64` is bytes in base64";
    E::invalid_value(Unexpected::Other("something else"), &expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back() {
        for bytes in [&b"/a/b"[..], b"", b"/\xff\xfe", "/\u{fc}".as_bytes()] {
            let text = OsText(OsString::from_vec(bytes.to_vec()));
            let json = serde_json::to_string(&text).unwrap();
            assert_eq!(serde_json::from_str::<OsText>(&json).unwrap(), text, "{json}");
        }
        assert_eq!(serde_json::to_string(&OsText::from(Path::new("/a"))).unwrap(), "\"/a\"");
    }
}
