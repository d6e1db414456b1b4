//! A list of operators as a file has it: read with its mistakes named, and written.

use std::fmt::Write as _;

use stagger_scheduler::model::KeyHash;
use stagger_text::settings::{Document, Flaw, Reader};

use super::Role;

/// Most operators: each is compared with the key of a request.
pub(super) const MAX_OPERATORS: usize = 1_000;

/// Longest name.
const MAX_NAME: usize = 64;

pub(super) const NAME_BOUND: &str =
    "1 to 64 letters, digits or any of . _ @ + -, and not admin, which is that of the admin key";

const KEY_BOUND: &str = "sha256: and 64 hexadecimal digits, as stagger operator add writes it";

/// One operator of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperatorEntry {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) key: KeyHash,
}

/// Whether a text can name an operator.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-".contains(&byte);
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(plain) && text != Role::Admin.name()
}

/// The operators of a file.
///
/// # Errors
/// The first mistake, with its place.
pub(super) fn parse(text: &str) -> Result<Vec<OperatorEntry>, Flaw> {
    let document = Document::parse(text)?;
    let reader = document.reader();
    let tables = reader.tables("operator")?;
    reader.done()?;
    if tables.len() > MAX_OPERATORS {
        return Err(reader.flaw(&format!("at most {MAX_OPERATORS} operators")));
    }
    let mut entries = Vec::new();
    for table in &tables {
        let entry = entry(table)?;
        if entries.iter().any(|other: &OperatorEntry| other.name == entry.name) {
            return Err(table.wrong("name", "a name that no other operator has"));
        }
        if entries.iter().any(|other| other.key == entry.key) {
            return Err(table.wrong("key", "a key that no other operator has"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(table: &Reader<'_, '_>) -> Result<OperatorEntry, Flaw> {
    let text = |key| table.need(key, table.text(key)?);
    let (name, role, key) = (text("name")?, text("role")?, text("key")?);
    table.done()?;
    if !is_name(name) {
        return Err(table.wrong("name", NAME_BOUND));
    }
    let role = role.parse().map_err(|_| table.wrong("role", "admin, operator or viewer"))?;
    let key = key.strip_prefix("sha256:").and_then(from_hex);
    let key = key.ok_or_else(|| table.wrong("key", KEY_BOUND))?;
    Ok(OperatorEntry { name: name.to_owned(), role, key })
}

fn from_hex(text: &str) -> Option<KeyHash> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(KeyHash::from_bytes(bytes))
}

/// The text of a file with these operators.
pub(super) fn print(entries: &[OperatorEntry]) -> String {
    let mut text = String::from(
        "# The operators of a stagger dispatcher, written by `stagger operator`. Of each key only its hash is\n\
         # here. A running dispatcher follows the file.\n",
    );
    for OperatorEntry { name, role, key } in entries {
        // Writing to a string does not fail.
        let _ =
            write!(text, "\n[[operator]]\nname = \"{name}\"\nrole = \"{role}\"\nkey = \"sha256:");
        key.as_bytes().iter().for_each(|byte| {
            let _ = write!(text, "{byte:02x}");
        });
        text.push_str("\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, role: Role) -> OperatorEntry {
        OperatorEntry { name: name.into(), role, key: KeyHash::of(name) }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let entries = [entry("alice@example.org", Role::Operator), entry("bob-2", Role::Viewer)];
        assert_eq!(parse(&print(&entries)).expect("our own"), entries);
        assert_eq!(parse("").expect("empty"), []);
    }

    #[test]
    fn a_mistake_was_told_without_its_place_or_its_bound() {
        let hash = "0".repeat(64);
        let operator = |name: &str, role: &str, key: &str| {
            format!("[[operator]]\nname = \"{name}\"\nrole = \"{role}\"\nkey = \"{key}\"\n")
        };
        let good = operator("alice", "viewer", &format!("sha256:{hash}"));
        for (text, says) in [
            (
                operator("admin", "viewer", &format!("sha256:{hash}")),
                "operator.0.name = admin: must be",
            ),
            (
                operator("a b", "viewer", &format!("sha256:{hash}")),
                "operator.0.name = a b: must be",
            ),
            (
                operator("alice", "root", &format!("sha256:{hash}")),
                "role = root: must be admin, operator",
            ),
            (operator("alice", "viewer", &hash), "must be sha256: and 64"),
            (operator("alice", "viewer", "sha256:é0"), "must be sha256: and 64"),
            ("[[operator]]\nname = \"alice\"\n".into(), "operator.0.role must be set"),
            (format!("{good}{good}"), "operator.1.name = alice: must be a name that no other"),
            (format!("{good}colour = \"red\"\n"), "unknown key"),
            ("[[operators]]\n".into(), "did you mean operator?"),
        ] {
            let flaw = parse(&text).expect_err(says);
            let line = flaw.line("operators.toml", &text);
            assert!(line.contains(says) && line.starts_with("operators.toml:"), "{line}");
        }
    }
}
