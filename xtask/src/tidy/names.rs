//! Names that say nothing, words that have a better one here, and notes to oneself.

use super::finding::StyleFinding;
use super::source::{SourceFile, Token};

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
    let written = |path: &str| [".rs", ".toml", ".md"].iter().any(|end| path.ends_with(end));
    let kept = texts.iter().filter(|(path, _)| written(path) && !path.starts_with("vectors/"));
    findings.extend(kept.flat_map(|(path, text)| notes(path, text)));
    findings
}

fn file(source: &SourceFile) -> Option<StyleFinding> {
    let mut parts = source.path.trim_end_matches(".rs").split('/');
    let bad = parts.find(|part| MODULES.contains(part))?;
    Some(StyleFinding::new(&source.path, 0, format!("`{bad}` is no noun for one idea")))
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
}
