//! HAProxy's notation: sections, and one directive on each line of them.
//!
//! A directive of several words is a key of its first word, or of its first two where the first alone says nothing
//! (`timeout connect`, `option redispatch`, `no option`). Source:
//! <https://docs.haproxy.org/dev/configuration.html#2.1>.

use super::tree::{SettingsDocument, TreeBuilder, lines};
use crate::ImportError;

/// Words that need the next one to be a setting.
const PREFIXES: [&str; 3] = ["timeout", "option", "no"];

pub(super) fn read(text: &str) -> Result<SettingsDocument, ImportError> {
    let mut tree = TreeBuilder::default();
    let mut section = String::new();
    for (line, at) in lines(text).filter(|(line, _)| !line.starts_with('#')) {
        let code = line.split(" #").next().unwrap_or(line).trim_end();
        let top = at.start == 0 || text.as_bytes().get(at.start - 1) == Some(&b'\n');
        if top {
            section = code.split_whitespace().collect::<Vec<_>>().join(" ");
            tree.table(&[&section], &section, "", &at)?;
            continue;
        }
        let mut words = code.split_whitespace();
        let mut key = words.next().unwrap_or_default().to_owned();
        while PREFIXES.iter().any(|prefix| key == *prefix || key == "no option") {
            match words.next() {
                Some(word) => key = format!("{key} {word}"),
                None => break,
            }
        }
        tree.add(&[&section, &key], &words.collect::<Vec<_>>().join(" "), at)?;
    }
    Ok(SettingsDocument::new(tree.root.into(), tree.places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_is_its_words_and_its_values() {
        let text = "defaults\n    timeout connect 5s # short\n    no option redispatch\nbackend b\n    retries 2\n    server a x\n    server c y\n";
        let document = read(text).expect("HAProxy");
        assert_eq!(document.tree()["defaults"]["timeout connect"], "5s");
        assert_eq!(document.tree()["defaults"]["no option redispatch"], "");
        assert_eq!(document.tree()["backend b"]["server"][1], "c y");
        assert_eq!(document.place("backend b.retries").map(|at| &text[at]), Some("retries 2"));
    }
}
