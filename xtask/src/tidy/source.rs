//! One Rust file, with its items, tokens and tests, and a place in it that breaks a rule.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;

use proc_macro2::{TokenStream, TokenTree};
use serde::Serialize;
use syn::spanned::Spanned;
use syn::{Attribute, Item};

/// One Rust file of the workspace.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// Below the root of the workspace, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) items: Vec<Item>,
    /// Identifiers, literals, punctuation and brackets, in order; comments are not among them.
    pub(super) tokens: Vec<Token>,
    /// Whether the whole file is only for tests and benches.
    pub(super) is_test: bool,
    test_lines: Vec<RangeInclusive<usize>>,
}

/// One token and its line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

impl SourceFile {
    /// Reads `text` as the file at `path`.
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Box<dyn Error>> {
        let place = |e: syn::Error| format!("{path}:{}: {e}", e.span().start().line);
        let file = syn::parse_file(text).map_err(place)?;
        let stream: TokenStream = text.parse().map_err(|e| format!("{path}: {e}"))?;
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        Ok(Self {
            path: path.to_owned(),
            text: text.to_owned(),
            test_lines: file.items.iter().filter(|item| is_test(item)).map(lines).collect(),
            items: file.items,
            tokens,
            is_test: path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples")),
        })
    }

    /// Whether a line is only compiled for tests.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        self.is_test || self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// The items that ship.
    pub(super) fn shipped(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !self.is_test && !is_test(item))
    }

    /// The tokens that ship.
    pub(super) fn shipped_tokens(&self) -> Vec<Token> {
        self.tokens.iter().filter(|token| !self.is_test_line(token.line)).cloned().collect()
    }

    /// Whether it is a front page, which only passes names on.
    pub(super) fn is_front(&self) -> bool {
        ["/mod.rs", "src/lib.rs"].iter().any(|end| self.path.ends_with(end))
    }

    /// The name of the crate's folder: `core` for `crates/core/src/lib.rs`.
    pub(super) fn krate(&self) -> &str {
        self.path.trim_start_matches("crates/").split('/').next().unwrap_or_default()
    }
}

/// The attributes of any item that can be hidden behind `cfg(test)` in practice.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// The conditions of what does not ship: tests, and a feature for the tests of other crates.
const TEST_ONLY: [&str; 2] = ["test", "any(test,feature=\"testing\")"];

/// Whether an item is `#[cfg(test)]`, or a `#[test]` by itself.
pub(super) fn is_test(item: &Item) -> bool {
    attributes(item).iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        let only_test = || {
            let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
            condition
                .is_ok_and(|condition| TEST_ONLY.contains(&condition.replace(' ', "").as_str()))
        };
        attribute.path().is_ident("test") || (is_cfg && only_test())
    })
}

/// The lines of an item, its attributes and doc comments included.
pub(super) fn lines(item: &Item) -> RangeInclusive<usize> {
    let first = attributes(item).iter().map(|a| a.span().start().line).min();
    let span = item.span();
    first.unwrap_or(usize::MAX).min(span.start().line)..=span.end().line
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        let mut push = |text: String, line| into.push(Token { text, line });
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = brackets(group.delimiter());
                push(open.into(), line);
                flatten(group.stream(), into);
                into.push(Token { text: close.into(), line: group.span_close().start().line });
            }
            other => push(other.to_string(), line),
        }
    }
}

fn brackets(delimiter: proc_macro2::Delimiter) -> (&'static str, &'static str) {
    use proc_macro2::Delimiter::{Brace, Bracket, None, Parenthesis};
    match delimiter {
        Brace => ("{", "}"),
        Bracket => ("[", "]"),
        Parenthesis => ("(", ")"),
        None => ("", ""),
    }
}

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct StyleFinding {
    pub(super) file: String,
    /// From 1; 0 when the whole file is meant.
    pub(super) line: usize,
    pub(super) what: String,
}

impl StyleFinding {
    /// `what` is wrong with `line` of `file`.
    pub(super) fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for StyleFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_module_is_told_from_what_ships() {
        let text = "fn a() {}\n/// Doc.\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = SourceFile::parse("crates/core/src/a.rs", text).expect("the fixture is valid");
        let shipped: Vec<_> = (1..=7).filter(|line| !source.is_test_line(*line)).collect();
        assert_eq!(shipped, [1, 7]);
        assert_eq!(source.shipped().count(), 2);
        assert_eq!(source.krate(), "core");
    }

    #[test]
    fn code_behind_a_feature_ships() {
        let text = "#[cfg(feature = \"test\")]\nfn a() {}\n#[cfg(not(test))]\nfn b() {}\n";
        let source = SourceFile::parse("crates/core/src/a.rs", text).expect("the fixture is valid");
        assert_eq!(source.shipped().count(), 2);
    }

    #[test]
    fn a_broken_file_is_named_with_its_line() {
        let error = SourceFile::parse("a.rs", "fn a() {}\nfn {}\n").expect_err("it is broken");
        assert!(error.to_string().starts_with("a.rs:2"), "{error}");
    }
}
