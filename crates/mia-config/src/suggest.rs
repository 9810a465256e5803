//! "Did you mean".

/// The candidate that `word` was most likely meant to be, or none when nothing is near.
///
/// Case, `_` and `-` don't count as differences.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A distance is quadratic in the lengths, and no key is this long.
    if word.len() > 100 {
        return None;
    }
    let folded = fold(word);
    let allowed = (folded.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_or_none() {
        let names = ["claude-code", "codex", "gemini"];
        assert_eq!(nearest("claud-code", names), Some("claude-code"));
        assert_eq!(nearest("ClaudeCode", names), Some("claude-code"));
        assert_eq!(nearest("codx", names), Some("codex"));
        assert_eq!(nearest("opencode", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"x".repeat(10_000), names), None);
    }
}
