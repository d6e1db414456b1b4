//! The list of promises, each with the test that shows it.

use std::collections::BTreeMap;
use std::error::Error;

use serde::Deserialize;

const PROMISES: &str = include_str!("promises.toml");

/// A case of a feature, and where it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) feature: String,
    pub(super) case: String,
    pub(super) test: TestName,
}

/// A test by the target of cargo that holds it, and its path there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestName {
    pub(super) target: String,
    pub(super) path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Feature {
    name: String,
    /// The promises, by the test that shows each: `target::path::of::the::test`.
    cases: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PromiseList {
    feature: Vec<Feature>,
}

/// All promises, in the order of the list.
///
/// # Errors
///
/// The list is not TOML of its form, or names a test without its target.
pub(super) fn promises() -> Result<Vec<Promise>, Box<dyn Error>> {
    parse(PROMISES)
}

fn parse(text: &str) -> Result<Vec<Promise>, Box<dyn Error>> {
    let list: PromiseList = toml::from_str(text)?;
    let mut all = Vec::new();
    for feature in list.feature {
        for (test, case) in feature.cases {
            let (target, path) =
                test.split_once("::").ok_or_else(|| format!("{test}: a test has a target"))?;
            let test = TestName { target: target.to_owned(), path: path.to_owned() };
            all.push(Promise { feature: feature.name.clone(), case, test });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_named_by_its_target_and_its_path() {
        let one = "[[feature]]\nname = 'auth'\n[feature.cases]\n'send::a::b' = 'it is sent'\n";
        let test = TestName { target: "send".into(), path: "a::b".into() };
        let promise = Promise { feature: "auth".into(), case: "it is sent".into(), test };
        assert_eq!(parse(one).ok(), Some(vec![promise]));
        assert!(parse(&one.replace("send::a::b", "b")).is_err());
    }

    #[test]
    fn the_list_is_read_whole_and_no_case_stands_twice() {
        let all = promises().expect("the list is of its form");
        let mut cases: Vec<_> = all.iter().map(|it| (&it.feature, &it.case)).collect();
        cases.sort();
        cases.dedup();
        assert_eq!(cases.len(), all.len());
    }
}
