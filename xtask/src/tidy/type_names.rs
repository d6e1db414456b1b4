//! Names of types: a name stands for one thing, so it is defined twice at most.

use std::collections::BTreeMap;

use syn::Item;

use super::finding::StyleFinding;
use super::source::SourceFile;

/// A name may be defined so often in what ships.
const MOST: usize = 2;

/// Every name that ships more often, at its first definition.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_defined_three_times_stands_for_nothing() {
        let parse =
            |path: &str| SourceFile::parse(path, "struct Row;").expect("the fixture is valid");
        let mut sources: Vec<_> =
            ["crates/a/src/a.rs", "crates/a/src/b.rs", "crates/a/tests/c.rs"].map(parse).into();
        assert!(check(&sources).is_empty(), "a test's own types do not count");
        sources.push(parse("xtask/src/d.rs"));
        let found = check(&sources);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("`Row` is defined 3 times: crates/a/src/a.rs, "));
    }
}
