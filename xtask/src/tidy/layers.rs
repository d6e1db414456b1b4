//! The layers inside a crate: a module uses those of lower layers only, or those that share its place.

use super::finding::StyleFinding;
use super::source::SourceFile;
use super::uses::{self, Uses};

/// The layers of a crate, the lowest first. A layer lists places; modules of one place, separated by
/// blanks, may use each other, and different places of one layer never meet.
type Layers = &'static [&'static [&'static str]];

/// The crates whose modules have layers.
const CRATES: [(&str, Layers); 1] = [(
    "crates/core/src/",
    &[
        &["time span_text entropy rate ratio error outcome slots"],
        &[
            "hint",
            "classify",
            "factor backoff jitter",
            "limits",
            "budget",
            "breaker",
            "hedge",
            "adaptive",
        ],
        &["policy"],
        &["retry"],
    ],
)];

/// Every use of a module that lies beside or above the user, and every module without a place.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
    let known = |root: &String| CRATES.iter().find(|(at, _)| at == root);
    let roots = uses::roots(sources);
    roots.iter().filter_map(known).flat_map(|(root, layers)| wrong(root, layers, sources)).collect()
}

fn wrong(root: &str, layers: Layers, sources: &[SourceFile]) -> Vec<StyleFinding> {
    let inside = sources.iter().filter(|source| source.path.starts_with(root));
    let homeless = |source: &SourceFile| {
        let module = top(root, source);
        let what = || format!("`{module}` has no place among the layers");
        (!is_root(&module) && place(&module, layers).is_none())
            .then(|| StyleFinding::new(&source.path, 0, what()))
    };
    let mut findings: Vec<_> = inside.filter_map(homeless).collect();
    for one in Uses::of(root, sources).all() {
        let (from, to) = (top(root, one.from), top(root, one.to));
        if let (Some(user), Some(used)) = (place(&from, layers), place(&to, layers))
            && user != used
            && used.0 >= user.0
        {
            let what = format!("`{from}` must not see `{to}`");
            findings.push(StyleFinding::new(&one.from.path, one.line, what));
        }
    }
    findings
}

/// The layer and the place in it.
fn place(module: &str, layers: Layers) -> Option<(usize, usize)> {
    let in_layer = |places: &&[&str]| {
        places.iter().position(|place| place.split(' ').any(|one| one == module))
    };
    layers.iter().enumerate().find_map(|(layer, places)| Some((layer, in_layer(places)?)))
}

/// The module below the crate's root that a file belongs to.
fn top(root: &str, source: &SourceFile) -> String {
    let below = source.path.trim_start_matches(root).trim_end_matches(".rs");
    below.split('/').next().unwrap_or_default().to_owned()
}

fn is_root(module: &str) -> bool {
    matches!(module, "lib" | "main" | "bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: &str = "crates/core/src/";

    fn found(path: &str, text: &str) -> Vec<String> {
        let files = [
            ("lib.rs", "pub use time::{Instant, Span};\npub use retry::Retry;\n"),
            ("time.rs", ""),
            ("jitter.rs", ""),
            ("hint/mod.rs", "pub use wall::Wall;"),
            ("hint/wall.rs", ""),
            ("breaker/mod.rs", "pub use trip::Trip;"),
            ("breaker/trip.rs", ""),
            ("budget/mod.rs", ""),
            ("policy/mod.rs", "pub use plan::Policy;"),
            ("policy/plan.rs", ""),
            ("retry/mod.rs", "pub use machine::Retry;"),
            ("retry/machine.rs", ""),
        ];
        let parse = |path: &str, text: &str| {
            SourceFile::parse(&format!("{CORE}{path}"), text).expect("the fixture is valid")
        };
        let others = files.iter().filter(|(other, _)| *other != path);
        let mut sources: Vec<_> = others.map(|(path, text)| parse(path, text)).collect();
        sources.push(parse(path, text));
        check(&sources).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn downward_and_inside_one_place_is_fine() {
        let text = "use crate::time::Span; use super::trip::Trip;";
        assert!(found("breaker/closed.rs", text).is_empty());
        assert!(found("backoff.rs", "use crate::jitter::Jitter;").is_empty());
        let text = "use crate::{Span, policy::Policy, breaker::Trip};";
        assert!(found("retry/step.rs", text).is_empty());
    }

    #[test]
    fn ideas_never_meet() {
        let want = ["`budget` must not see `breaker`"];
        assert_eq!(found("budget/window.rs", "use crate::breaker::Trip;"), want);
        assert_eq!(found("budget/window.rs", "use super::super::breaker::Trip;"), want);
        assert_eq!(found("budget/window.rs", "use crate::{time::{Span}, breaker::{Trip}};"), want);
        assert_eq!(found("budget/window.rs", "fn a() { b!(crate::breaker::Trip::c()) }"), want);
    }

    #[test]
    fn a_re_export_at_the_root_is_no_way_around() {
        let want = ["`policy` must not see `retry`"];
        assert_eq!(found("policy/builder.rs", "use crate::Retry;"), want);
        assert_eq!(found("time.rs", "use crate::hint::Wall;"), ["`time` must not see `hint`"]);
        assert_eq!(found("time.rs", "use crate::hint;"), ["`time` must not see `hint`"]);
    }

    #[test]
    fn a_new_module_needs_a_place() {
        assert_eq!(found("extra.rs", ""), ["`extra` has no place among the layers"]);
    }
}
