//! Versions: what may be asked for, and which of two is newer.

use crate::failure::Failure;

/// The longest version or tag, in bytes.
const LONGEST: usize = 128;

/// Splits `codex@1.2.3`. A version by the flag and one in the name must not both be there.
///
/// # Errors
/// When they are, or when it can't be a version or a tag of npm's.
pub(super) fn asked(name: &str, flag: Option<String>) -> Result<(String, Option<String>), Failure> {
    let (name, inline) = match name.split_once('@') {
        Some((name, version)) => (name, Some(version.to_owned())),
        None => (name, None),
    };
    let version = match (inline, flag) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage("a version is given twice: after the @ and by --version"));
        }
        (inline, flag) => inline.or(flag),
    };
    if let Some(version) = &version
        && !can_be_asked_for(version)
    {
        return Err(Failure::usage(format!("{version:?} is no version"))
            .with_help("give one like 1.2.3, or a tag of npm's such as latest"));
    }
    Ok((name.to_owned(), version))
}

/// An exact version or a tag: nothing that npm would take for a range, a path or an address.
fn can_be_asked_for(version: &str) -> bool {
    is_exact(version) || is_tag(version)
}

/// `1.2.3`, with or without what makes it one before a release, or another build.
fn is_exact(version: &str) -> bool {
    let (rest, build) = match version.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (version, None),
    };
    let (core, before) = match rest.split_once('-') {
        Some((core, before)) => (core, Some(before)),
        None => (rest, None),
    };
    let is_number = |part: &str| {
        part.bytes().all(|b| b.is_ascii_digit())
            && (part == "0" || !part.is_empty() && !part.starts_with('0'))
    };
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    version.len() <= LONGEST
        && core.split('.').count() == 3
        && core.split('.').all(is_number)
        && before.is_none_or(|b| b.split('.').all(|p| is_word(p) && (is_number(p) || !digits(p))))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

/// A name that npm has for a version. One that it would take for a range is none.
fn is_tag(word: &str) -> bool {
    // It reads v1 as 1, and x as any.
    let number = word.trim_start_matches(['v', 'V']);
    word.len() <= LONGEST
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && !number.starts_with(|c: char| c.is_ascii_digit())
        && !number.eq_ignore_ascii_case("x")
}

/// What the version of a package may look like: it becomes the name of a folder.
pub(super) fn is_version(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.contains('.')
        && version.len() <= LONGEST
        && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
}

/// Whether the first is surely newer: by its numbers alone, without what stands after a dash.
pub(super) fn is_newer(one: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let core = version.split(['-', '+']).next().unwrap_or_default();
        core.split('.').map_while(|number| number.parse().ok()).collect()
    };
    numbers(one) > numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_010_a_version_is_exact_or_a_tag() {
        for (name, flag, version) in [
            ("codex", None, None),
            ("codex@1.2.3", None, Some("1.2.3")),
            ("codex", Some("1.2.3-rc.1"), Some("1.2.3-rc.1")),
            ("codex@latest", None, Some("latest")),
            ("codex@next-2_rc", None, Some("next-2_rc")),
            ("codex@0.10.0-alpha.2-x+build.01", None, Some("0.10.0-alpha.2-x+build.01")),
        ] {
            let asked = asked(name, flag.map(str::to_owned)).unwrap();
            assert_eq!(asked, ("codex".to_owned(), version.map(str::to_owned)));
        }
        for bad in [
            "",
            "^1.0.0",
            "../x",
            "file:x",
            "1.x || 2",
            "-g",
            "git+ssh://x",
            ">=1",
            "0.1.x",
            "1.x",
            "1",
            "1.2",
            "x",
            "X",
            "vx",
            "v1",
            "v1.2.3",
            "evil.tgz",
            "--foo",
            "1.2.3.4",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3+",
            "1.2.3-a..b",
            "1.2.3_2",
            "1.2.3-ä",
            "_x",
            "a/b",
            "*",
        ] {
            assert!(asked("codex", Some(bad.to_owned())).is_err(), "{bad}");
        }
        assert!(asked("codex@1.0.0", Some("1.0.0".to_owned())).is_err());
        assert!(is_version("1.2.3-beta") && !is_version("latest") && !is_version("1/2.3"));
    }

    #[test]
    fn m_010_newer_is_by_numbers() {
        assert!(is_newer("1.10.0", "1.9.9") && is_newer("2.0.0", "1.10.0"));
        assert!(!is_newer("1.9.9", "1.10.0") && !is_newer("1.0.0", "1.0.0"));
        assert!(!is_newer("1.0.0-b", "1.0.0-a"));
    }
}
