//! nginx's notation: `directive value ...;` and `block name { ... }`.
//!
//! A directive's values are one text; a block is a table named by the block and its values. A block that is there
//! already gets a number. Source: <https://nginx.org/en/docs/beginners_guide.html#conf_structure>.

use std::ops::Range;

use super::tree::{SettingsDocument, TreeBuilder};
use crate::ImportError;

pub(super) fn read(text: &str) -> Result<SettingsDocument, ImportError> {
    let mut tree = TreeBuilder::default();
    let mut open: Vec<String> = Vec::new();
    let mut words: Vec<(String, Range<usize>)> = Vec::new();
    for (token, at) in tokens(text)? {
        let (Some(first), last) = (words.first(), words.last()) else {
            match token {
                BlockToken::Word(word) => words.push((word, at)),
                BlockToken::Close => {
                    open.pop().ok_or_else(|| mistake(text, at.start, "} without {"))?;
                }
                BlockToken::Semicolon => {}
                BlockToken::Open => return Err(mistake(text, at.start, "{ without a name")),
            }
            continue;
        };
        let place = first.1.start..last.map_or(first.1.end, |last| last.1.end);
        match token {
            BlockToken::Word(word) => words.push((word, at)),
            BlockToken::Semicolon => {
                let value = joined(&words[1..]);
                let mut keys: Vec<&str> = open.iter().map(String::as_str).collect();
                keys.push(&first.0);
                tree.add(&keys, &value, place)?;
                words.clear();
            }
            BlockToken::Open => {
                let name = unused(&tree, &open, &joined(&words));
                open.push(name);
                let keys: Vec<&str> = open.iter().map(String::as_str).collect();
                tree.table(&keys, "", "", &place)?;
                words.clear();
            }
            BlockToken::Close => return Err(mistake(text, at.start, "} without ;")),
        }
    }
    match (open.last(), words.first()) {
        (None, None) => Ok(SettingsDocument::new(tree.root.into(), tree.places)),
        (Some(_), _) => Err(mistake(text, text.len(), "{ without }")),
        (None, Some((_, at))) => Err(mistake(text, at.start, "a directive without ;")),
    }
}

fn joined(words: &[(String, Range<usize>)]) -> String {
    words.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join(" ")
}

/// The name of a block, with a number when its parent has one of that name.
fn unused(tree: &TreeBuilder, open: &[String], name: &str) -> String {
    let path = |name: &str| {
        let way = open.iter().map(String::as_str).chain([name]);
        way.collect::<Vec<_>>().join(".")
    };
    let taken = |name: &str| tree.places.contains_key(&path(name));
    let numbered = (2_u32..).map(|number| format!("{name} #{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_else(|| name.to_owned())
}

fn mistake(text: &str, at: usize, why: &str) -> ImportError {
    let line = text.get(..at).unwrap_or(text).split('\n').count();
    ImportError::new("", format!("line {line}: {why}"), "nginx's notation without mistakes")
}

enum BlockToken {
    Word(String),
    Open,
    Close,
    Semicolon,
}

fn tokens(text: &str) -> Result<Vec<(BlockToken, Range<usize>)>, ImportError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = &text[at..];
        let (token, length) = match c {
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '{' => (Some(BlockToken::Open), 1),
            '}' => (Some(BlockToken::Close), 1),
            ';' => (Some(BlockToken::Semicolon), 1),
            '"' | '\'' => {
                let end =
                    rest[1..].find(c).ok_or_else(|| mistake(text, at, "a quote without an end"))?;
                (Some(BlockToken::Word(rest[1..=end].to_owned())), end + 2)
            }
            c if c.is_whitespace() => (None, c.len_utf8()),
            _ => {
                let length = word(rest);
                (Some(BlockToken::Word(rest[..length].to_owned())), length)
            }
        };
        if let Some(token) = token {
            tokens.push((token, at..at + length));
        }
        at += length;
    }
    Ok(tokens)
}

/// The length of a word: `${name}` belongs to it.
fn word(rest: &str) -> usize {
    let mut variable = false;
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        match c {
            '{' if before == '$' => variable = true,
            '}' if variable => variable = false,
            c if c.is_whitespace() || ";{}".contains(c) => return at,
            _ => {}
        }
        before = c;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_tables_and_a_second_one_has_a_number() {
        let text = "http { server { a 1 'x y'; } server { a 2; b ${v}c; } } # end\n";
        let document = read(text).expect("nginx");
        assert_eq!(document.tree()["http"]["server"]["a"], "1 x y");
        assert_eq!(document.tree()["http"]["server #2"]["b"], "${v}c");
        assert_eq!(document.place("http.server #2.a").map(|at| &text[at]), Some("a 2"));
        for text in ["a {", "a", "}", "{ }", "a 'b;"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
