//! Lengths of files and functions, in lines that ship. A tripwire, not a goal.

use std::collections::BTreeMap;

use serde::Serialize;
use syn::visit::{self, Visit};
use syn::{Block, Signature};

use super::source::{SourceFile, StyleFinding, is_test};

/// No file is longer without a reason: it holds more than one idea.
const FILE_LIMIT: usize = 500;
/// No function is longer without a reason: it no longer fits on a screen.
const FUNCTION_LIMIT: usize = 70;
/// The form of a reason: at the top of the file, or inside or right above the function.
const REASON: &str = "// tidy: long because ";
/// A file of fewer lines belongs to a neighbour, as a rule.
const SMALL: usize = 40;
/// A file's reason stands in its first lines.
const TOP: usize = 10;

/// Lengths of files and functions, and the reasons for the long ones.
#[derive(Debug, Default, Serialize)]
pub(super) struct Sizes {
    pub(super) files: Spread,
    /// Files below [`SMALL`] lines.
    pub(super) small_files: usize,
    pub(super) functions: Spread,
    /// Lines of each crate, the largest crate first.
    pub(super) crates: Vec<CrateSize>,
    /// Long with a reason, as `path:line: reason`.
    pub(super) waived: Vec<String>,
    #[serde(skip)]
    pub(super) findings: Vec<StyleFinding>,
}

/// The count, and the lengths at the middle, at nine tenths and at the top.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Spread {
    pub(super) count: usize,
    pub(super) median: usize,
    pub(super) p90: usize,
    pub(super) max: usize,
    /// The place of the longest one.
    pub(super) longest: String,
}

impl Sizes {
    /// Measures what ships.
    pub(super) fn of(sources: &[SourceFile]) -> Self {
        let mut sizes = Self::default();
        let (mut files, mut functions) = (Vec::new(), Vec::new());
        for source in sources.iter().filter(|source| !source.is_test) {
            let found = measure(source);
            sizes.judge(source, &found);
            files.push((found.lines, source.path.clone()));
            let place = |f: &Function| format!("{}:{} {}", source.path, f.first, f.name);
            functions.extend(found.functions.iter().map(|f| (f.lines(), place(f))));
        }
        sizes.small_files = files.iter().filter(|(lines, _)| *lines < SMALL).count();
        sizes.crates = CrateSize::of_all(&files);
        sizes.files = Spread::of(files);
        sizes.functions = Spread::of(functions);
        sizes
    }

    fn judge(&mut self, source: &SourceFile, found: &SizeRow) {
        let mut reasons = reasons(source);
        if found.lines > FILE_LIMIT {
            let what = format!("{} lines, more than {FILE_LIMIT}", found.lines);
            self.excuse(source, &mut reasons, 1, TOP, what);
        }
        for function in found.functions.iter().filter(|f| f.lines() > FUNCTION_LIMIT) {
            let (name, lines) = (&function.name, function.lines());
            let what = format!("{name}: {lines} lines, more than {FUNCTION_LIMIT}");
            self.excuse(source, &mut reasons, function.first - 1, function.last, what);
        }
        let stale = |(line, _)| StyleFinding::new(&source.path, line, "a reason for nothing long");
        self.findings.extend(reasons.into_iter().map(stale));
    }

    /// Uses up a reason between the two lines, or reports that there is none.
    fn excuse(
        &mut self,
        source: &SourceFile,
        reasons: &mut Vec<(usize, String)>,
        first: usize,
        last: usize,
        what: String,
    ) {
        match reasons.iter().position(|(line, _)| (first..=last).contains(line)) {
            Some(at) => {
                let (line, reason) = reasons.remove(at);
                self.waived.push(format!("{}:{line}: {reason}", source.path));
            }
            None => self.findings.push(StyleFinding::new(&source.path, first, what)),
        }
    }
}

/// The lines of one crate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CrateSize {
    /// Its folder.
    pub(super) folder: String,
    pub(super) lines: usize,
    pub(super) files: usize,
}

impl CrateSize {
    /// The crates of files, which come with their lines. A crate is the folder of a
    /// `src/`, or any other folder of sources.
    fn of_all(files: &[(usize, String)]) -> Vec<Self> {
        let mut crates: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (lines, path) in files {
            let folder = path.split_once("/src/").or_else(|| path.rsplit_once('/'));
            let folder = folder.map_or(path.as_str(), |(folder, _)| folder);
            let (all, files) = crates.entry(folder).or_default();
            (*all, *files) = (*all + lines, *files + 1);
        }
        let size =
            |(folder, (lines, files)): (&str, _)| Self { folder: folder.to_owned(), lines, files };
        let mut sizes: Vec<_> = crates.into_iter().map(size).collect();
        sizes.sort_by_key(|size| std::cmp::Reverse(size.lines));
        sizes
    }
}

impl Spread {
    fn of(mut all: Vec<(usize, String)>) -> Self {
        all.sort();
        let at = |share: usize| all.get((all.len() * share).div_ceil(100).saturating_sub(1));
        let length = |share| at(share).map_or(0, |(length, _)| *length);
        let longest = all.last().map(|(_, place)| place.clone()).unwrap_or_default();
        Self { count: all.len(), median: length(50), p90: length(90), max: length(100), longest }
    }
}

struct SizeRow {
    lines: usize,
    functions: Vec<Function>,
}

struct Function {
    name: String,
    first: usize,
    last: usize,
}

impl Function {
    fn lines(&self) -> usize {
        self.last - self.first + 1
    }
}

fn measure(source: &SourceFile) -> SizeRow {
    let lines = (1..=source.text.lines().count()).filter(|n| !source.is_test_line(*n)).count();
    let mut functions = Functions(Vec::new());
    source.shipped().for_each(|item| functions.visit_item(item));
    SizeRow { lines, functions: functions.0 }
}

fn reasons(source: &SourceFile) -> Vec<(usize, String)> {
    let reason = |line: &str| line.trim_start().strip_prefix(REASON).map(str::to_owned);
    source.text.lines().zip(1..).filter_map(|(line, n)| Some((n, reason(line)?))).collect()
}

/// Collects functions and methods, from `fn` to the closing brace.
struct Functions(Vec<Function>);

impl Functions {
    fn push(&mut self, signature: &Signature, body: &Block) {
        self.0.push(Function {
            name: signature.ident.to_string(),
            first: signature.fn_token.span.start().line,
            last: body.brace_token.span.close().end().line,
        });
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if !is_test(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.push(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.push(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.push(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> Sizes {
        Sizes::of(&[SourceFile::parse("crates/core/src/a.rs", text).expect("the fixture is valid")])
    }

    fn function(lines: usize, reason: &str) -> String {
        format!("fn before() {{}}\n\n{reason}\nfn a() {{\n{}}}\n", "    b();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_is_one_too_long() {
        assert!(sizes(&function(70, "")).findings.is_empty());
        let found = sizes(&function(71, "")).findings;
        assert_eq!(found[0].what, "a: 71 lines, more than 70");
    }

    #[test]
    fn a_reason_excuses_and_is_shown() {
        let sizes = sizes(&function(71, "// tidy: long because it is one table"));
        assert!(sizes.findings.is_empty());
        assert_eq!(sizes.waived, ["crates/core/src/a.rs:3: it is one table"]);
    }

    #[test]
    fn a_reason_for_nothing_long_is_found() {
        let found = sizes(&function(7, "// tidy: long because it once was")).findings;
        assert_eq!((found[0].line, found[0].what.as_str()), (3, "a reason for nothing long"));
    }

    #[test]
    fn tests_do_not_count_for_the_length_of_a_file() {
        let body = "    // x\n".repeat(600);
        assert!(sizes(&format!("#[cfg(test)]\nmod tests {{\n{body}}}\n")).findings.is_empty());
        assert_eq!(sizes(&format!("mod a {{\n{body}}}\n")).findings.len(), 1);
    }

    #[test]
    fn methods_and_trait_defaults_are_functions() {
        let text = "impl A { fn a() {} }\ntrait B { fn b() {}\nfn c(); }\n";
        assert_eq!(sizes(text).functions.count, 2);
    }

    #[test]
    fn the_lines_of_a_crate_are_those_of_its_files_that_ship() {
        let text = "fn a() {}\n".repeat(39);
        let long = format!("{text}fn b() {{}}\n#[cfg(test)]\nmod tests {{}}\n");
        let parse =
            |(path, text): (&str, &str)| SourceFile::parse(path, text).expect("it is valid");
        let files = [
            ("crates/a/src/lib.rs", text.as_str()),
            ("crates/b/src/lib.rs", &long),
            ("crates/b/src/c/d.rs", &text),
            ("crates/b/tests/e.rs", &text),
        ];
        let sizes = Sizes::of(&files.map(parse));
        let crates: Vec<_> =
            sizes.crates.iter().map(|c| (c.folder.as_str(), c.lines, c.files)).collect();
        assert_eq!(crates, [("crates/b", 79, 2), ("crates/a", 39, 1)]);
        assert_eq!(sizes.small_files, 2);
    }

    #[test]
    fn quantiles_are_lengths_that_occur() {
        let spread = Spread::of((1..=10).map(|n| (n, String::new())).collect());
        assert_eq!((spread.median, spread.p90, spread.max), (5, 9, 10));
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}
