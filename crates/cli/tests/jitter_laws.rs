//! The lists of jitter laws for users: each has every law that the engine reads, and no other.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use stagger_core::Jitter;

/// The names of all laws, as the engine lists them where it refuses another.
fn laws() -> BTreeSet<String> {
    let refusal = "?".parse::<Jitter>().expect_err("no law has this name");
    let laws = names(refusal.bound());
    assert!(Jitter::SHARELESS.iter().all(|law| laws.contains(law.name())), "{laws:?}");
    laws
}

/// The laws of a list in prose: `none, full, proportional:R or symmetric:R`.
fn names(list: &str) -> BTreeSet<String> {
    let words = list.split([',', ' ', '\n']).map(|word| word.split(':').next().unwrap_or(word));
    let laws = words.filter(|word| !["", "or", "with", "R"].contains(word));
    laws.take_while(|word| *word != "from").map(str::to_owned).collect()
}

#[test]
fn the_page_about_policies_lacked_a_law() {
    let page = include_str!("../../../docs/policy.md");
    let row = page.lines().find(|line| line.starts_with("| `jitter` |")).expect("a row of jitter");
    let allowed = row.split('|').nth(3).expect("a column of what is allowed");
    let forms = allowed.split('`').skip(1).step_by(2);
    let name = |form: &str| form.trim_matches(['"', '{', ' ']).split(' ').next().map(str::to_owned);
    assert_eq!(forms.filter_map(name).collect::<BTreeSet<_>>(), laws());
}

#[test]
fn the_schema_of_the_api_lacked_a_law() {
    let schema = include_str!("../../dispatch/src/api/wire/policy.json");
    let schema: Value = serde_json::from_str(schema).expect("a schema in JSON");
    let mut lists = Vec::new();
    collect(&schema, &mut lists);
    assert_eq!(lists.len(), 2, "of the backoff, and of the throttled backoff");
    for list in lists {
        assert_eq!(list, laws());
    }
}

/// The laws of every property named `jitter` below this value.
fn collect(value: &Value, lists: &mut Vec<BTreeSet<String>>) {
    let Some(object) = value.as_object() else { return };
    if let Some(forms) = object.get("jitter").and_then(|jitter| jitter["oneOf"].as_array()) {
        let words = |form: &Value| [&form["enum"], &form["required"]].map(Value::clone);
        let words = forms.iter().flat_map(words).filter_map(|list| list.as_array().cloned());
        lists.push(words.flatten().filter_map(|law| law.as_str().map(str::to_owned)).collect());
    }
    object.values().for_each(|inner| collect(inner, lists));
}

#[test]
fn the_help_of_exec_lacked_a_law() {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let output = tool.args(["exec", "--help"]).output().expect("the binary was built");
    let help = String::from_utf8(output.stdout).expect("the help is text");
    let (_, about) = help.split_once("draws a delay below its ceiling:").expect("help on --jitter");
    let (list, _) = about.split_once('[').expect("the default stands behind the list");
    assert_eq!(names(list), laws());
}
