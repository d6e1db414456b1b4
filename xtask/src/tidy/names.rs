//! Names and words: those that say nothing, have a better one here, are notes to oneself, or belong to one
//! machine.

use std::collections::BTreeMap;

use serde::Serialize;
use syn::Item;

use super::source::{SourceFile, StyleFinding, Token};

/// Files and modules that would hold more than one idea.
const MODULES: [&str; 9] =
    ["util", "utils", "common", "helper", "helpers", "misc", "type", "types", "prelude"];

/// Other people's words for ours, and why theirs mislead. The glossary has ours.
const SYNONYMS: [(&str, &str); 7] = [
    ("max_retries", "`max_attempts`, which counts the first attempt"),
    ("retry_count", "`attempt`, which counts from 1"),
    ("num_retries", "`attempt`, which counts from 1"),
    ("sleep_time", "`delay`: sleeping is only one way to wait"),
    ("wait_time", "`delay`"),
    ("circuit_breaker", "`breaker`"),
    ("CircuitBreaker", "`Breaker`"),
];

/// Type names that nobody in the field would look for. The glossary has the field's own.
const INVENTIONS: [&str; 26] = [
    "Album", "Books", "Came", "Crew", "Fate", "Floor", "Gate", "Judge", "Kept", "Lane", "Lanes",
    "Need", "Parcel", "Past", "Patience", "Pledge", "Pulses", "Receipt", "Roll", "Scene", "Sequel",
    "Shelf", "Stage", "Standing", "Tempo", "Vacancy",
];

/// Files and modules named by such an invention.
const ROOMS: [&str; 23] = [
    "adoption", "album", "bell", "books", "crew", "desk", "exchange", "fate", "floor", "keeper",
    "lane", "lessee", "mirror", "outrun", "parcel", "pledge", "scene", "shelf", "stage",
    "standing", "strays", "teller", "tempo",
];

/// Notes to oneself, in two parts so that this file is not one.
const NOTES: [(&str, &str); 3] = [("TO", "DO"), ("FIX", "ME"), ("X", "XX")];

/// Vague names and foreign words in sources, and notes to oneself in any text.
pub(super) fn check(sources: &[SourceFile], texts: &[(String, String)]) -> Vec<StyleFinding> {
    let mut findings: Vec<_> = sources.iter().filter_map(file).collect();
    // The testkit reads other projects' files in their words, and the bench calls their functions; the
    // chores are about this very list.
    let ours = |s: &&SourceFile| !matches!(s.krate(), "bench" | "testkit" | "xtask");
    findings.extend(sources.iter().filter(ours).flat_map(words));
    findings.extend(sources.iter().flat_map(modules));
    findings.extend(sources.iter().flat_map(inventions));
    let written = |path: &str| [".rs", ".toml", ".md"].iter().any(|end| path.ends_with(end));
    let kept = texts.iter().filter(|(path, _)| written(path) && !path.starts_with("vectors/"));
    findings.extend(kept.flat_map(|(path, text)| notes(path, text)));
    findings
}

fn file(source: &SourceFile) -> Option<StyleFinding> {
    let mut parts = source.path.trim_end_matches(".rs").split('/');
    let bad = parts.find(|part| MODULES.contains(part) || ROOMS.contains(part))?;
    Some(StyleFinding::new(&source.path, 0, format!("`{bad}` is no noun for one idea")))
}

/// Types of sources and of tests: both are read.
fn inventions(source: &SourceFile) -> Vec<StyleFinding> {
    const KINDS: [&str; 5] = ["struct", "enum", "union", "trait", "type"];
    let bad = |pair: &&[Token]| {
        KINDS.contains(&pair[0].text.as_str()) && INVENTIONS.contains(&pair[1].text.as_str())
    };
    let finding = |pair: &[Token]| {
        let what = format!("`{}` is no term of the field", pair[1].text);
        StyleFinding::new(&source.path, pair[1].line, what)
    };
    source.tokens.windows(2).filter(bad).map(finding).collect()
}

fn modules(source: &SourceFile) -> Vec<StyleFinding> {
    let bad = |pair: &&[Token]| pair[0].text == "mod" && MODULES.contains(&pair[1].text.as_str());
    let finding = |pair: &[Token]| {
        let what = format!("`mod {}` is no noun for one idea", pair[1].text);
        StyleFinding::new(&source.path, pair[1].line, what)
    };
    source.tokens.windows(2).filter(bad).map(finding).collect()
}

fn words(source: &SourceFile) -> Vec<StyleFinding> {
    let better = |token: &Token| SYNONYMS.iter().find(|(word, _)| *word == token.text);
    let finding = |token: &Token, (word, ours): &(&str, &str)| {
        StyleFinding::new(&source.path, token.line, format!("`{word}` is {ours} here"))
    };
    let judge = |token: &Token| Some(finding(token, better(token)?));
    source.shipped_tokens().iter().filter_map(judge).collect()
}

fn notes(path: &str, text: &str) -> Vec<StyleFinding> {
    let word = |line: &str| {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric());
        let is_note = |word: &str| NOTES.iter().any(|(a, b)| word.strip_prefix(a) == Some(b));
        words.find(|word| is_note(word)).map(str::to_owned)
    };
    let finding =
        |(line, n)| Some(StyleFinding::new(path, n, format!("{} is no plan", word(line)?)));
    text.lines().zip(1..).filter_map(finding).collect()
}

/// A name may be defined so often in what ships.
const MOST: usize = 2;

/// Every name that ships more often, at its first definition.
pub(super) fn type_names(sources: &[SourceFile]) -> Vec<StyleFinding> {
    let mut names: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.path.contains("src/")) {
        for (name, line) in source.shipped().filter_map(defined) {
            names.entry(name).or_default().push((&source.path, line));
        }
    }
    names.into_iter().filter(|(_, places)| places.len() > MOST).map(finding).collect()
}

fn finding((name, places): (String, Vec<(&str, usize)>)) -> StyleFinding {
    let files: Vec<_> = places.iter().map(|(file, _)| *file).collect();
    let what = format!("`{name}` is defined {} times: {}", places.len(), files.join(", "));
    StyleFinding::new(places[0].0, places[0].1, what)
}

fn defined(item: &Item) -> Option<(String, usize)> {
    let ident = match item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some((ident.to_string(), ident.span().start().line))
}

/// The words that open a relative clause. `Whether` is the field's word for a boolean.
const OPENINGS: [&str; 7] = ["What", "Who", "Whose", "How", "Where", "Which", "That"];

/// At most so many first lines in a hundred may open so: tower, hyper and tokio have none to two.
const MOST_PERCENT: usize = 3;

/// The first lines of documentation comments.
#[derive(Debug, Default, Serialize)]
pub(super) struct Openings {
    pub(super) first_lines: usize,
    /// The share of those below, in per cent.
    pub(super) relative_percent: f64,
    /// Those that open with a relative clause.
    pub(super) relative: Vec<StyleFinding>,
}

impl Openings {
    /// Reads all sources, tests included: they are read by strangers too.
    pub(super) fn of(sources: &[SourceFile]) -> Self {
        let mut openings = Self::default();
        for source in sources {
            openings.read(source);
        }
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let share = count(openings.relative.len()) / count(openings.first_lines.max(1));
        openings.relative_percent = (share * 1_000.0).round() / 10.0;
        openings
    }

    fn read(&mut self, source: &SourceFile) {
        let mut in_comment = false;
        for (line, n) in source.text.lines().zip(1..) {
            let text = documentation(line);
            if let (Some(text), false) = (text, in_comment) {
                self.first_lines += 1;
                if text.split_whitespace().next().is_some_and(|word| OPENINGS.contains(&word)) {
                    self.relative.push(StyleFinding::new(&source.path, n, text));
                }
            }
            in_comment = text.is_some();
        }
    }

    /// All of them, if they are too many.
    pub(super) fn findings(&self) -> Vec<StyleFinding> {
        let too_many = self.relative.len() * 100 > self.first_lines * MOST_PERCENT;
        if too_many { self.relative.clone() } else { Vec::new() }
    }
}

fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "))
}

/// The folders at the root of a machine that hold somebody's own files.
const FOLDERS: [&str; 4] = ["home", "root", "work", "tmp"];

/// Every such path in text that is not a script; other projects' vectors are theirs.
pub(super) fn local_paths(texts: &[(String, String)]) -> Vec<StyleFinding> {
    let judged = |(path, text): &&(String, String)| {
        !path.starts_with("vectors/") && !text.starts_with("#!/")
    };
    texts.iter().filter(judged).flat_map(|(path, text)| lines(path, text)).collect()
}

fn lines(path: &str, text: &str) -> Vec<StyleFinding> {
    let finding = |(line, n)| {
        let folder = FOLDERS.iter().find(|folder| names(line, folder))?;
        Some(StyleFinding::new(path, n, format!("/{folder} is a path of one machine")))
    };
    text.lines().zip(1..).filter_map(finding).collect()
}

/// Whether `/folder/` starts a path here, rather than going on inside one or inside a URL.
fn names(line: &str, folder: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || "._-~}>)*".contains(c);
    line.match_indices(&format!("/{folder}/")).any(|(at, _)| !line[..at].ends_with(goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = SourceFile::parse(path, text).expect("the fixture is valid");
        let texts = [(path.to_owned(), text.to_owned())];
        check(&[source], &texts).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_drawer_for_everything_is_found_as_file_folder_and_module() {
        let want = ["`util` is no noun for one idea"];
        assert_eq!(found("crates/core/src/util.rs", ""), want);
        assert_eq!(found("crates/core/src/util/mod.rs", ""), want);
        assert_eq!(
            found("crates/core/src/a.rs", "mod util {}"),
            ["`mod util` is no noun for one idea"]
        );
        assert!(found("crates/core/src/utility.rs", "").is_empty());
    }

    #[test]
    fn an_invented_name_is_found_as_type_and_as_file() {
        let found_name = |text| found("crates/core/src/a.rs", text);
        assert_eq!(found_name("struct Shelf;"), ["`Shelf` is no term of the field"]);
        assert!(found_name("struct Shelves; fn of(a: Shelf) {}").is_empty());
        assert_eq!(found("crates/core/src/shelf.rs", ""), ["`shelf` is no noun for one idea"]);
    }

    #[test]
    fn a_foreign_word_is_found_in_code_and_not_in_comments() {
        let path = "crates/core/src/a.rs";
        let want = ["`max_retries` is `max_attempts`, which counts the first attempt here"];
        assert_eq!(found(path, "struct A { max_retries: u32 }"), want);
        assert!(found(path, "// Elsewhere: max_retries.\nstruct A;").is_empty());
    }

    #[test]
    fn a_note_to_oneself_is_found_in_comments() {
        let note = NOTES.map(|(a, b)| format!("// {a}{b}: later\n")).concat();
        assert_eq!(found("crates/core/src/a.rs", &note).len(), 3);
        assert!(found("crates/core/src/a.rs", "// TODOS are none").is_empty());
    }

    #[test]
    fn a_name_that_is_defined_three_times_stands_for_nothing() {
        let parse =
            |path: &str| SourceFile::parse(path, "struct Row;").expect("the fixture is valid");
        let mut sources: Vec<_> =
            ["crates/a/src/a.rs", "crates/a/src/b.rs", "crates/a/tests/c.rs"].map(parse).into();
        assert!(type_names(&sources).is_empty(), "a test's own types do not count");
        sources.push(parse("xtask/src/d.rs"));
        let found = type_names(&sources);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("`Row` is defined 3 times: crates/a/src/a.rs, "));
    }

    fn openings(text: &str) -> Openings {
        Openings::of(&[
            SourceFile::parse("crates/core/src/a.rs", text).expect("the fixture is valid")
        ])
    }

    #[test]
    fn a_riddle_is_found_and_the_lines_below_a_first_line_are_not() {
        let found =
            openings("/// What is left.\n/// How so.\nfn a() {}\n/// Whether it is.\nfn b() {}\n");
        assert_eq!((found.first_lines, found.relative.len()), (2, 1));
        assert_eq!(found.relative_percent.to_string(), "50");
        assert_eq!(found.findings()[0].what, "What is left.");
    }

    #[test]
    fn three_in_a_hundred_are_let_through() {
        let text = |riddles: usize| {
            let line = |n| if n < riddles { "/// What is.\n" } else { "/// A.\n" };
            (0..100).map(|n| format!("{}fn f{n}() {{}}\n", line(n))).collect::<String>()
        };
        assert!(openings(&text(3)).findings().is_empty());
        assert_eq!(openings(&text(4)).findings().len(), 4);
    }

    fn count(path: &str, line: &str) -> usize {
        local_paths(&[(path.to_owned(), line.to_owned())]).len()
    }

    #[test]
    fn a_path_of_one_machine_is_found_and_a_part_of_a_url_is_not() {
        for folder in FOLDERS {
            assert_eq!(count("README.md", &format!("see `/{folder}/me/notes`")), 1);
            assert_eq!(count("README.md", &format!("https://example.org/{folder}/me")), 0);
            assert_eq!(count("vectors/a.json", &format!("/{folder}/me")), 0);
            assert_eq!(count("run", &format!("#!/bin/sh\nls /{folder}/me")), 0);
        }
    }
}
