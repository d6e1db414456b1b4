//! The layers inside the engine: words < ideas < policy < retry. Ideas never meet.

use std::collections::BTreeMap;

use syn::{Item, UseTree};

use super::finding::Finding;
use super::source::{Source, Token};

const CORE: &str = "crates/core/src/";

/// Each module's place: its layer, and the idea it belongs to. Inside one idea all may see all; from
/// idea to idea, only a lower layer is seen.
const PLACES: [(&str, u8, &str); 21] = [
    ("time", 0, "words"),
    ("span_text", 0, "words"),
    ("entropy", 0, "words"),
    ("rate", 0, "words"),
    ("ratio", 0, "words"),
    ("error", 0, "words"),
    ("outcome", 0, "words"),
    ("slots", 0, "words"),
    ("factor", 1, "delay"),
    ("hint", 1, "hint"),
    ("classify", 1, "classify"),
    ("backoff", 1, "delay"),
    ("jitter", 1, "delay"),
    ("limits", 1, "limits"),
    ("deadline", 1, "deadline"),
    ("budget", 1, "budget"),
    ("breaker", 1, "breaker"),
    ("hedge", 1, "hedge"),
    ("adaptive", 1, "adaptive"),
    ("policy", 2, "policy"),
    ("retry", 3, "retry"),
];

/// Every use of a module that lies beside or above the user, and every module without a place.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let exports = sources.iter().find(|s| s.path == format!("{CORE}lib.rs")).map(exports);
    let exports = exports.unwrap_or_default();
    let inside = |s: &&Source| s.path.starts_with(CORE) && !s.path.ends_with("src/lib.rs");
    sources.iter().filter(inside).flat_map(|source| wrong(source, &exports)).collect()
}

fn wrong(source: &Source, exports: &BTreeMap<String, String>) -> Vec<Finding> {
    let below = source.path.trim_start_matches(CORE).trim_end_matches(".rs");
    let user = below.split('/').next().unwrap_or_default();
    let Some(from) = place(user) else {
        return vec![Finding::new(
            &source.path,
            0,
            format!("`{user}` has no place among the layers"),
        )];
    };
    let depth = below.trim_end_matches("/mod").split('/').count();
    let mut findings = Vec::new();
    for token in used(&source.shipped_tokens(), depth) {
        let module = exports.get(&token.text).unwrap_or(&token.text);
        let against = place(module).is_some_and(|to| to.1 != from.1 && to.0 >= from.0);
        if against {
            let what = format!("`{user}` must not see `{module}`");
            findings.push(Finding::new(&source.path, token.line, what));
        }
    }
    findings
}

fn place(module: &str) -> Option<(u8, &'static str)> {
    PLACES.iter().find(|(name, ..)| *name == module).map(|(_, layer, idea)| (*layer, *idea))
}

/// The first path parts below the crate's root: of `crate::a::b`, of `crate::{a::b, c}`, and of as
/// many `super::` as the file is deep.
fn used(tokens: &[Token], depth: usize) -> Vec<Token> {
    let mut used = Vec::new();
    for at in 0..tokens.len() {
        let start = match tokens[at].text.as_str() {
            "crate" => at + 1,
            "super" => at + 1 + 3 * (depth - 1),
            _ => continue,
        };
        let is_root = tokens[at].text == "crate" || climbs(tokens, at, depth);
        if is_root && is_path(tokens, start) {
            firsts(&tokens[start + 2..], &mut used);
        }
    }
    used
}

/// Whether exactly `depth` times `super` stand here: that leads to the root of the crate.
fn climbs(tokens: &[Token], at: usize, depth: usize) -> bool {
    let starts_here = at < 3 || tokens[at - 3].text != "super";
    starts_here
        && (0..depth).all(|n| tokens.get(at + 3 * n).is_some_and(|token| token.text == "super"))
}

fn is_path(tokens: &[Token], at: usize) -> bool {
    [at, at + 1].iter().all(|n| tokens.get(*n).is_some_and(|token| token.text == ":"))
}

fn firsts(rest: &[Token], used: &mut Vec<Token>) {
    let Some(first) = rest.first() else { return };
    if first.text != "{" {
        used.push(first.clone());
        return;
    }
    let mut open = 0_usize;
    for pair in rest.windows(2) {
        match pair[0].text.as_str() {
            "{" => open += 1,
            "}" => open -= 1,
            _ => {}
        }
        match (open, pair[0].text.as_str()) {
            (0, _) => return,
            (1, "{" | ",") if pair[1].text != "}" => used.push(pair[1].clone()),
            _ => {}
        }
    }
}

/// The module of each name at the root: `pub use time::{Instant, Span}`.
fn exports(lib: &Source) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for item in &lib.items {
        if let Item::Use(item) = item
            && let UseTree::Path(path) = &item.tree
        {
            names(&path.tree, &path.ident.to_string(), &mut exports);
        }
    }
    exports
}

fn names(tree: &UseTree, module: &str, exports: &mut BTreeMap<String, String>) {
    let mut export = |name: &syn::Ident| exports.insert(name.to_string(), module.to_owned());
    match tree {
        UseTree::Name(name) => _ = export(&name.ident),
        UseTree::Rename(name) => _ = export(&name.rename),
        UseTree::Path(path) => names(&path.tree, module, exports),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, module, exports)),
        UseTree::Glob(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let parse = |path: String, text| Source::parse(&path, text).expect("the fixture is valid");
        let lib = "pub use time::{Instant, Span};\npub use retry::Retry;\n";
        let sources = [parse(format!("{CORE}lib.rs"), lib), parse(format!("{CORE}{path}"), text)];
        check(&sources).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn downward_and_inside_one_idea_is_fine() {
        let text = "use crate::time::Span; use super::trip::Trip; use crate::budget::Window;";
        assert!(found("budget/window.rs", text).is_empty());
        assert!(found("backoff.rs", "use crate::jitter::Jitter;").is_empty());
        assert!(found("retry/step.rs", "use crate::{Span, policy::Policy, budget};").is_empty());
    }

    #[test]
    fn ideas_never_meet() {
        let want = ["`budget` must not see `breaker`"];
        assert_eq!(found("budget/window.rs", "use crate::breaker::Trip;"), want);
        assert_eq!(found("budget/mod.rs", "use super::breaker::Trip;"), want);
        assert_eq!(found("budget/window.rs", "use super::super::breaker::Trip;"), want);
        assert_eq!(found("budget/window.rs", "use crate::{time::{Span}, breaker::{A, B}};"), want);
        assert_eq!(found("budget/window.rs", "fn a() { b!(crate::breaker::c()) }"), want);
    }

    #[test]
    fn a_re_export_at_the_root_is_no_way_around() {
        assert_eq!(found("policy/mod.rs", "use crate::Retry;"), ["`policy` must not see `retry`"]);
        assert_eq!(found("time.rs", "use crate::hint;"), ["`time` must not see `hint`"]);
    }

    #[test]
    fn a_new_module_needs_a_place() {
        assert_eq!(found("extra.rs", ""), ["`extra` has no place among the layers"]);
    }
}
