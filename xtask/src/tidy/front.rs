//! `lib.rs` and `mod.rs` are the front page of a crate or folder: docs, `mod` and `use` lines only.

use syn::Item;
use syn::spanned::Spanned;

use super::finding::StyleFinding;
use super::source::SourceFile;

/// Every other item on a front page.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
    // A library of one small file has no need of a front page.
    let ours = |s: &&SourceFile| !s.path.starts_with("xtask/no-std/");
    sources.iter().filter(|source| source.is_front()).filter(ours).flat_map(items).collect()
}

fn items(source: &SourceFile) -> Vec<StyleFinding> {
    let finding = |item: &Item| {
        let what = "only docs, `mod` and `use` lines belong here";
        StyleFinding::new(&source.path, item.span().start().line, what)
    };
    source.shipped().filter(|item| !belongs(item)).map(finding).collect()
}

fn belongs(item: &Item) -> bool {
    match item {
        Item::Use(_) | Item::ExternCrate(_) => true,
        Item::Mod(module) => module.content.iter().all(|(_, items)| items.iter().all(belongs)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&[SourceFile::parse(path, text).expect("the fixture is valid")]).len()
    }

    #[test]
    fn a_type_on_the_front_page_is_found() {
        let text = "//! Doc.\nmod a;\npub use a::B;\nextern crate alloc;\n";
        assert_eq!(count("crates/a/src/b/mod.rs", text), 0);
        let with = format!("{text}struct C;\nmod inline {{ fn d() {{}} }}\n");
        assert_eq!(count("crates/a/src/b/mod.rs", &with), 2);
        assert_eq!(count("crates/a/src/lib.rs", &with), 2);
        assert_eq!(count("crates/a/src/b.rs", &with), 0);
    }
}
