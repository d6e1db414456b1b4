//! The notation of a text, told by its looks.

use super::tree::lines;

/// The notations that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON, also with comments and trailing commas.
    Json,
    Yaml,
    /// `dotted.key=value`, or variables of an environment.
    Properties,
    /// `[section]` with `key = value`.
    Ini,
    /// nginx: `directive value;` and `block { ... }`.
    Blocks,
    /// HAProxy: a word at the start of a line opens a section, the lines below it are its directives.
    Sections,
}

/// The words that open a section of HAProxy.
const SECTIONS: [&str; 7] =
    ["global", "defaults", "frontend", "backend", "listen", "resolvers", "userlist"];

impl Syntax {
    /// The likeliest notation; YAML when no other one is.
    pub(super) fn of(text: &str) -> Self {
        let comment = |line: &str| line.starts_with(['#', '!']) || line.starts_with("//");
        let first = lines(text).map(|(line, _)| line).find(|line| !comment(line)).unwrap_or("");
        let plain =
            || lines(text).map(|(line, _)| line).filter(|line| !line.starts_with(['#', '!', ';']));
        if is_section(first) && plain().all(|line| line.starts_with('[') || line.contains('=')) {
            Self::Ini
        } else if first.starts_with(['{', '[']) || first.starts_with("/*") {
            Self::Json
        } else if plain().all(is_property) {
            Self::Properties
        } else if SECTIONS.iter().any(|word| opens(text, word)) {
            Self::Sections
        } else if is_blocks(text) {
            Self::Blocks
        } else {
            Self::Yaml
        }
    }
}

fn is_section(line: &str) -> bool {
    line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || " -_.:@/".contains(c))
    })
}

/// `dotted.key=value` or `NAME=value`: YAML has no `=` before its first `:`.
fn is_property(line: &str) -> bool {
    let line = line.strip_prefix("export ").unwrap_or(line);
    let name = |key: &str| {
        key.contains('.')
            || key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    line.split_once('=').is_some_and(|(key, _)| {
        let key = key.trim_end();
        !key.contains([':', ' ']) && !key.is_empty() && name(key)
    })
}

/// Whether a line is this word, with or without names behind it, at its very start.
fn opens(text: &str, word: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.strip_prefix(word);
        rest.is_some_and(|rest| {
            !rest.contains(':') && (rest.trim().is_empty() || rest.starts_with([' ', '\t']))
        }) && !line.trim_end().ends_with(['{', ';'])
    })
}

/// Whether some line ends a directive with `;`, and none looks like a key of YAML.
fn is_blocks(text: &str) -> bool {
    let plain = || lines(text).map(|(line, _)| line).filter(|line| !line.starts_with('#'));
    let code = |line: &str| line.split(" #").next().unwrap_or(line).trim_end().to_owned();
    plain().any(|line| code(line).ends_with(';'))
        && !plain().any(|line| line.starts_with("- ") || code(line).ends_with(':') || line == "---")
}
