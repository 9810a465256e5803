//! The environment marker that says to which child of which supervisor a process belongs.
//!
//! Its value is a path with one part for each supervisor that the process lives under, the
//! outermost first: a Mia that runs inside a supervised tree of another one adds its own part.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::SystemTime;

use crate::proc::Stat;

/// The name of the variable. A process that must outlive the dispatch which started it (a daemon
/// started from inside an agent) has to be started without it.
pub const MARKER: &str = "MIA_SUPERVISED";

/// The name of one supervisor, unlike that of any other on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    /// A new one. Pid and start time make it unique among processes that this one can see, time
    /// among those that it can't (another pid namespace), and the count within this process.
    pub(crate) fn mint(count: u64) -> Self {
        let pid = std::process::id();
        let start = Stat::read(pid.cast_signed()).map_or(0, |stat| stat.id.start);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(format!("{pid}-{start}-{:x}-{count}", now.as_nanos()))
    }

    pub(crate) fn from_os(text: &OsStr) -> Option<Self> {
        let text = text.to_str()?;
        let valid =
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        valid.then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The marker of one child: the path that this process itself lives under, and the child.
    pub(crate) fn path(&self, outer: Option<&OsStr>, child: u64) -> OsString {
        let mut path = outer.map(|outer| outer.as_bytes().to_vec()).unwrap_or_default();
        if !path.is_empty() {
            path.push(b':');
        }
        path.extend_from_slice(format!("{}.{child}", self.0).as_bytes());
        OsString::from_vec(path)
    }

    /// Which child of this supervisor a marker names, if any.
    pub(crate) fn child_in(&self, path: &[u8]) -> Option<u64> {
        path.split(|byte| *byte == b':').find_map(|part| {
            let id = part.strip_prefix(self.0.as_bytes())?.strip_prefix(b".")?;
            std::str::from_utf8(id).ok()?.parse().ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_marker_names_a_child_of_each_supervisor() {
        let (outer, inner) = (Token("1-2-a-0".into()), Token("3-4-b-0".into()));
        let path = inner.path(Some(&outer.path(None, 7)), 12);
        assert_eq!(path, "1-2-a-0.7:3-4-b-0.12");
        assert_eq!(outer.child_in(path.as_bytes()), Some(7));
        assert_eq!(inner.child_in(path.as_bytes()), Some(12));
    }

    #[test]
    fn parts_match_as_a_whole_only() {
        let token = Token("1-2-a-0".into());
        for stranger in ["", "1-2-a-0", "11-2-a-0.7", "1-2-a-01.7", "1-2-a-0.7x", "1-2-a-0.", "x:y"]
        {
            assert_eq!(token.child_in(stranger.as_bytes()), None, "{stranger}");
        }
    }

    #[test]
    fn two_tokens_of_one_process_differ() {
        assert_ne!(Token::mint(0), Token::mint(1));
    }
}
