//! Public items that no other file names: the first candidates to be deleted or hidden.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Ident, ImplItem, Item, Visibility};

use super::source::{SourceFile, StyleFinding, Token, lines};

/// The number of files that use each word. A file counts once.
type FilesOfWord<'a> = BTreeMap<&'a str, usize>;

/// Every public item below a `src` folder whose name occurs in no other file, nor in the tests and the
/// documentation of its own. Re-exports are no uses; pages of documentation are.
pub(super) fn check(sources: &[SourceFile], texts: &[(String, String)]) -> Vec<StyleFinding> {
    let used: Vec<BTreeSet<&str>> = sources.iter().map(|source| words(source, |_| true)).collect();
    let mut files = FilesOfWord::new();
    let pages = texts.iter().filter(|(path, _)| is_page(path));
    let pages = pages.map(|(_, text)| split(text).collect::<BTreeSet<_>>());
    for word in used.iter().cloned().chain(pages).flatten() {
        *files.entry(word).or_default() += 1;
    }
    let mut findings = Vec::new();
    for (source, used) in sources.iter().zip(&used).filter(|(source, _)| is_judged(source)) {
        let own = words(source, |token| source.is_test_line(token.line) || token.is_documentation);
        for ident in source.shipped().flat_map(public) {
            let name = ident.to_string();
            let elsewhere = files.get(name.as_str()).copied().unwrap_or_default();
            let here = usize::from(used.contains(name.as_str()));
            if elsewhere == here && !own.contains(name.as_str()) {
                let what = format!("`{name}` is public, and no other file uses it");
                findings.push(StyleFinding::new(&source.path, ident.span().start().line, what));
            }
        }
    }
    findings
}

fn is_judged(source: &SourceFile) -> bool {
    !source.is_test && source.path.contains("src/")
}

fn is_page(path: &str) -> bool {
    path.starts_with("docs/") || path.ends_with("README.md")
}

/// A token, and whether it is the text of a documentation comment.
struct Word<'a> {
    line: usize,
    is_documentation: bool,
    text: &'a str,
}

/// The words of a file's tokens outside its re-exports, as far as `counts` says.
fn words(source: &SourceFile, counts: impl Fn(&Word<'_>) -> bool) -> BTreeSet<&str> {
    let mut passed_on = Vec::new();
    re_exports(&source.items, &mut passed_on);
    let tokens = &source.tokens;
    let word = |at: usize| Word {
        line: tokens[at].line,
        is_documentation: is_documentation(tokens, at),
        text: &tokens[at].text,
    };
    let outside = |word: &Word<'_>| !passed_on.iter().any(|lines| lines.contains(&word.line));
    let counted = (0..tokens.len()).map(word).filter(|word| outside(word) && counts(word));
    counted.flat_map(|word| split(word.text)).collect()
}

/// A documentation comment is an attribute to the parser: `#[doc = "its text"]`.
fn is_documentation(tokens: &[Token], at: usize) -> bool {
    at >= 2 && tokens[at - 1].text == "=" && tokens[at - 2].text == "doc"
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    text.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

/// The lines of every `use` that passes names on.
fn re_exports(items: &[Item], into: &mut Vec<std::ops::RangeInclusive<usize>>) {
    for item in items {
        match item {
            Item::Use(passed) if !matches!(passed.vis, Visibility::Inherited) => {
                into.push(lines(item));
            }
            Item::Mod(module) => {
                module.content.iter().for_each(|(_, items)| re_exports(items, into));
            }
            _ => {}
        }
    }
}

/// The names of the public items and inherent functions in an item.
fn public(item: &Item) -> Vec<&Ident> {
    let (vis, ident) = match item {
        Item::Const(i) => (&i.vis, &i.ident),
        Item::Enum(i) => (&i.vis, &i.ident),
        // Those of another ABI are called from outside.
        Item::Fn(i) if i.sig.abi.is_none() => (&i.vis, &i.sig.ident),
        Item::Static(i) => (&i.vis, &i.ident),
        Item::Struct(i) => (&i.vis, &i.ident),
        Item::Trait(i) => (&i.vis, &i.ident),
        Item::Type(i) => (&i.vis, &i.ident),
        Item::Impl(i) if i.trait_.is_none() => return i.items.iter().filter_map(method).collect(),
        _ => return Vec::new(),
    };
    if is_public(vis) { vec![ident] } else { Vec::new() }
}

fn method(item: &ImplItem) -> Option<&Ident> {
    let (vis, ident) = match item {
        ImplItem::Fn(item) => (&item.vis, &item.sig.ident),
        ImplItem::Const(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    is_public(vis).then_some(ident)
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], page: &str) -> Vec<String> {
        let parse =
            |(path, text): &(&str, &str)| SourceFile::parse(path, text).expect("it is valid");
        let sources: Vec<_> = files.iter().map(parse).collect();
        let texts = [("docs/page.md".to_owned(), page.to_owned())];
        let name = |finding: StyleFinding| finding.what.split('`').nth(1).map(str::to_owned);
        check(&sources, &texts).into_iter().filter_map(name).collect()
    }

    const LIB: (&str, &str) = ("crates/a/src/lib.rs", "mod a;\npub use a::{Ledger, open};");

    #[test]
    fn an_item_that_is_only_passed_on_is_unused() {
        let text = "pub struct Ledger;\nimpl Ledger { pub fn level(self) {} fn own() {} }\n\
                    pub fn open() -> Ledger { todo(Ledger) }\npub(crate) fn near() {}";
        let file = ("crates/a/src/a.rs", text);
        assert_eq!(found(&[LIB, file], ""), ["Ledger", "level", "open"]);
        let user = ("crates/b/src/lib.rs", "use a::Ledger; fn f(l: Ledger) { l.level() }");
        assert_eq!(found(&[LIB, file, user], ""), ["open"]);
    }

    #[test]
    fn tests_documentation_and_pages_are_uses() {
        let text = "/// See [`Ledger`].\npub fn open() {}\npub struct Ledger;\npub struct Lost;\n\
                    #[cfg(test)]\nmod tests { fn t() { super::open() } }";
        let file = ("crates/a/src/a.rs", text);
        assert_eq!(found(&[LIB, file], ""), ["Lost"]);
        assert!(found(&[LIB, file], "`a::Lost` is gone.").is_empty());
    }
}
