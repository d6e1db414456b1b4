//! Circles of files: files that use each other can only be read together.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::StyleFinding;
use super::source::SourceFile;
use super::uses::{self, Uses};

/// The files that each file uses.
type Graph<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Every largest set of files that all lead to each other, as a finding of its first file.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
    let roots = uses::roots(sources);
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
