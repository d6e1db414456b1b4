//! The uses between the files of a crate, followed through re-exports, and circles of them: files that use
//! each other can only be read together.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, UseTree};

use super::source::{SourceFile, StyleFinding, Token};

/// Re-exports of re-exports are followed this far, so that two that name each other come to an end.
const MOST_RE_EXPORTS: usize = 8;

/// The modules of one crate, and the uses between them.
#[derive(Debug)]
pub(super) struct Uses<'a> {
    modules: BTreeMap<Vec<String>, Module<'a>>,
}

#[derive(Debug)]
struct Module<'a> {
    source: &'a SourceFile,
    /// Absolute paths of the names that `use` lines bring in, by the name here.
    names: BTreeMap<String, Vec<String>>,
}

/// A file that uses another file of its crate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use<'a> {
    pub(super) from: &'a SourceFile,
    pub(super) to: &'a SourceFile,
    pub(super) line: usize,
}

impl<'a> Uses<'a> {
    /// Reads the crate whose sources are below `root`, which ends with `src/`.
    pub(super) fn of(root: &str, sources: &'a [SourceFile]) -> Self {
        let (lib, main) = (format!("{root}lib.rs"), format!("{root}main.rs"));
        // A program beside a library is a crate of its own, which only uses the library's names.
        let is_both = sources.iter().any(|source| source.path == lib);
        let inside = sources.iter().filter(|source| source.path.starts_with(root));
        let inside = inside.filter(|source| !(is_both && source.path == main));
        let module = |source: &'a SourceFile| {
            let path = module_path(root, &source.path);
            let names = imports(source, &path);
            (path, Module { source, names })
        };
        Self { modules: inside.map(module).collect() }
    }

    /// Every use of one file by another. Front pages only pass names on, so none of theirs counts.
    pub(super) fn all(&self) -> Vec<Use<'a>> {
        let mut uses = Vec::new();
        let files = self.modules.iter().filter(|(_, module)| !module.source.is_front());
        for (path, module) in files {
            for (named, line) in paths(&module.source.shipped_tokens(), path, &module.names) {
                let Some(to) = self.file_of(&named, 0) else { continue };
                if to.path != module.source.path {
                    uses.push(Use { from: module.source, to, line });
                }
            }
        }
        uses
    }

    /// The file that defines what `path` names.
    fn file_of(&self, path: &[String], re_exports: usize) -> Option<&'a SourceFile> {
        let length = (0..=path.len()).rev().find(|n| self.modules.contains_key(&path[..*n]))?;
        let (known, rest) = path.split_at(length);
        let module = &self.modules[known];
        let Some((name, below)) = rest.split_first() else { return Some(module.source) };
        match module.names.get(name) {
            Some(target) if re_exports < MOST_RE_EXPORTS => {
                let further: Vec<_> = target.iter().chain(below).cloned().collect();
                self.file_of(&further, re_exports + 1)
            }
            _ => Some(module.source),
        }
    }
}

/// `["retry", "stop"]` for `crates/core/src/retry/stop.rs`.
fn module_path(root: &str, file: &str) -> Vec<String> {
    let below = file.trim_start_matches(root).trim_end_matches(".rs");
    let mut parts: Vec<_> = below.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

fn imports(source: &SourceFile, module: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    for item in source.shipped() {
        if let Item::Use(item) = item {
            bind(&item.tree, &mut Vec::new(), module, &mut names);
        }
    }
    names
}

/// Notes the names that a `use` tree binds; `above` is the path down to `tree`.
fn bind(
    tree: &UseTree,
    above: &mut Vec<String>,
    module: &[String],
    names: &mut BTreeMap<String, Vec<String>>,
) {
    let mut note = |name: String, last: String| {
        above.push(last);
        names.insert(name, absolute(above, module));
        above.pop();
    };
    match tree {
        UseTree::Name(name) => note(name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(name) => note(name.rename.to_string(), name.ident.to_string()),
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            bind(&path.tree, above, module, names);
            above.pop();
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| bind(tree, above, module, names));
        }
        UseTree::Glob(_) => {}
    }
}

/// A path as seen from `module`, from the root of the crate on.
fn absolute(path: &[String], module: &[String]) -> Vec<String> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let (base, rest) = match path.first().map(String::as_str) {
        Some("crate") => (0, &path[1..]),
        Some("self") => (module.len(), &path[1..]),
        _ => (module.len().saturating_sub(supers), &path[supers..]),
    };
    let base = &module[..base];
    base.iter().chain(rest).cloned().collect()
}

/// Every path from `crate`, `super` or an imported name on, absolute, with its line. Groups are taken
/// apart.
fn paths(
    tokens: &[Token],
    module: &[String],
    names: &BTreeMap<String, Vec<String>>,
) -> Vec<(Vec<String>, usize)> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let word = tokens[at].text.as_str();
        let base = match word {
            "crate" | "super" => vec![word.to_owned()],
            _ => names.get(word).cloned().unwrap_or_default(),
        };
        let is_name = !matches!(word, "crate" | "super");
        if !base.is_empty() && is_start(tokens, at) && separated(tokens, at + 1) {
            let mut path = base;
            follow(&tokens[at + 3..], &mut path, &mut |path, line| {
                let whole = if is_name { path.to_vec() } else { absolute(path, module) };
                found.push((whole, line));
            });
        }
    }
    found
}

/// Whether no path leads up to this token: `super` in the middle of one is not a start.
fn is_start(tokens: &[Token], at: usize) -> bool {
    at < 2 || tokens[at - 1].text != ":" || tokens[at - 2].text != ":"
}

fn separated(tokens: &[Token], at: usize) -> bool {
    [at, at + 1].iter().all(|n| tokens.get(*n).is_some_and(|token| token.text == ":"))
}

/// Walks a path or a group of paths, tells `each` of every whole one, and returns the tokens walked.
fn follow(
    tokens: &[Token],
    path: &mut Vec<String>,
    each: &mut impl FnMut(&[String], usize),
) -> usize {
    let Some(first) = tokens.first() else { return 0 };
    if first.text == "{" {
        return group(tokens, path, each);
    }
    path.push(first.text.clone());
    let walked = if separated(tokens, 1) {
        3 + follow(&tokens[3..], path, each)
    } else {
        each(path, first.line);
        1
    };
    path.pop();
    walked
}

fn group(
    tokens: &[Token],
    path: &mut Vec<String>,
    each: &mut impl FnMut(&[String], usize),
) -> usize {
    let mut at = 1;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "}" => return at + 1,
            "," => at += 1,
            // A rename names nothing further.
            "as" => at += 2,
            _ => at += follow(&tokens[at..], path, each).max(1),
        }
    }
    at
}

/// The folders of sources, one a crate: `crates/core/src/`.
pub(super) fn roots(sources: &[SourceFile]) -> BTreeSet<String> {
    let root = |source: &SourceFile| {
        let (before, _) = source.path.split_once("src/")?;
        let ours = ["crates/", "bench/harness/", "xtask/workbench/"]
            .iter()
            .any(|at| before.starts_with(at))
            || before == "xtask/";
        (ours && !source.is_test).then(|| format!("{before}src/"))
    };
    sources.iter().filter_map(root).collect()
}

/// The files that each file uses.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Every largest set of files that all lead to each other, as a finding of its first file.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
    let roots = roots(sources);
    roots.iter().flat_map(|root| in_crate(root, sources)).collect()
}

fn in_crate(root: &str, sources: &[SourceFile]) -> Vec<StyleFinding> {
    let mut graph = Graph::new();
    for one in Uses::of(root, sources).all().into_iter().filter(|one| !one.to.is_front()) {
        graph.entry(&one.from.path).or_default().insert(&one.to.path);
    }
    let reach: Graph<'_> = graph.keys().map(|file| (*file, reached(file, &graph))).collect();
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, ahead) in &reach {
        if ahead.contains(file) && !seen.contains(file) {
            let back = |other: &&&str| reach.get(**other).is_some_and(|far| far.contains(file));
            let circle: Vec<_> = ahead.iter().filter(back).copied().collect();
            let short = circle.iter().map(|path| path.trim_start_matches(root));
            let what = format!("use each other: {}", short.collect::<Vec<_>>().join(", "));
            findings.push(StyleFinding::new(file, 0, what));
            seen.extend(circle);
        }
    }
    findings
}

/// The files that `start` leads to, by one use or more.
fn reached<'a>(start: &str, graph: &Graph<'a>) -> BTreeSet<&'a str> {
    let next = |file: &str| graph.get(file).into_iter().flatten().copied();
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<_> = next(start).collect();
    while let Some(file) = ahead.pop() {
        if reached.insert(file) {
            ahead.extend(next(file));
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "crates/core/src/";

    fn uses(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let parse = |(path, text): &(&str, &str)| {
            SourceFile::parse(&format!("{ROOT}{path}"), text).expect("the fixture is valid")
        };
        let sources: Vec<_> = files.iter().map(parse).collect();
        let short = |source: &SourceFile| source.path.trim_start_matches(ROOT).to_owned();
        let uses = Uses::of(ROOT, &sources).all();
        uses.iter().map(|one| (short(one.from), short(one.to))).collect()
    }

    fn pair(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn a_use_through_a_front_page_is_a_use_of_the_file_behind_it() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("a.rs", "use crate::B;"),
            ("b/mod.rs", "mod inner; pub use inner::B;"),
            ("b/inner.rs", "pub struct B; fn c() -> super::super::a::A { todo() }"),
        ];
        assert_eq!(uses(&files), [pair("a.rs", "b/inner.rs"), pair("b/inner.rs", "a.rs")]);
    }

    #[test]
    fn the_names_of_a_library_hold_beside_a_program_of_the_same_crate() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("main.rs", "use stagger_core::B;"),
            ("a.rs", "use crate::B;"),
            ("b.rs", "pub struct B;"),
        ];
        assert_eq!(uses(&files), [pair("a.rs", "b.rs")]);
    }

    #[test]
    fn groups_and_renames_are_taken_apart() {
        let files = [
            ("a.rs", "use crate::{b::{self, B as C}, c::d};"),
            ("b.rs", ""),
            ("c.rs", "#[cfg(test)]\nmod tests { use crate::a; }"),
        ];
        let b = pair("a.rs", "b.rs");
        assert_eq!(uses(&files), [b.clone(), b, pair("a.rs", "c.rs")]);
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let parse = |(path, text): &(&str, &str)| {
            SourceFile::parse(&format!("crates/core/src/{path}"), text)
                .expect("the fixture is valid")
        };
        let sources: Vec<_> = files.iter().map(parse).collect();
        check(&sources).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn three_files_that_use_each_other_are_one_circle() {
        let files = [
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::c;"),
            ("c.rs", "use crate::a;"),
            ("d.rs", "use crate::a;"),
        ];
        assert_eq!(found(&files), ["use each other: a.rs, b.rs, c.rs"]);
        assert!(found(&files[..2]).is_empty());
    }
}
