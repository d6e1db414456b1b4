//! Keys of settings without their spelling.

/// A key without case, `-` and `_`: many products write theirs in more than one way.
pub(crate) fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}
