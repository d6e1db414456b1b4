//! The reference page of the policy text says what the code does.
#![cfg(feature = "serde")]

use std::collections::BTreeSet;

use stagger_core::Policy;
use stagger_core::adaptive::{AdaptivePlan, ClientThrottlePlan};
use stagger_core::breaker::BreakerPlan;

const PAGE: &str = include_str!("../../../docs/policy.md");

/// The page's TOML examples.
fn examples() -> Vec<&'static str> {
    PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// A row of the table below the heading of `table`: its key, and its default.
fn rows(table: &str) -> Vec<(&'static str, &'static str)> {
    let heading = format!("## `[{table}]`");
    let section = PAGE.split("\n## ").find(|part| format!("## {part}").starts_with(&heading));
    let section = section.unwrap_or_else(|| panic!("no section for {table}"));
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let first = |(key, rest): (_, &'static str)| (key, rest.split(" | ").next().unwrap_or(rest));
    cells.map(first).map(|(key, default)| (key, default.trim_matches('`'))).collect()
}

/// The keys that a part of the policy knows, out of its refusal of one that it does not.
fn known(table: &str) -> BTreeSet<String> {
    let text = format!("[{table}]\nno_such_key = 1");
    let message = toml::from_str::<Policy>(&text).expect_err("refused").message().to_owned();
    let names = message.split('`').skip(3).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn the_first_example_is_the_default_in_full() {
    let policy: Policy = toml::from_str(examples()[0]).unwrap();
    assert_eq!(policy, Policy::default());
    for table in ["backoff", "hints", "budget.window", "on_refusal"] {
        let document: toml::Table = toml::from_str(examples()[0]).unwrap();
        let part = table.split('.').fold(&toml::Value::Table(document), |at, key| &at[key]).clone();
        let written: BTreeSet<String> = part.as_table().unwrap().keys().cloned().collect();
        let mut known = known(table);
        // Its default follows `max_attempts`.
        known.remove("burst");
        assert_eq!(written, known, "{table}");
    }
}

#[test]
fn every_example_reads_and_writes() {
    for example in examples() {
        let policy: Policy = toml::from_str(example).unwrap_or_else(|error| panic!("{error}"));
        let written = toml::to_string(&policy).unwrap();
        assert_eq!(toml::from_str::<Policy>(&written).unwrap(), policy);
    }
    assert_eq!(examples().len(), 2);
}

#[test]
fn every_key_has_its_row_and_every_row_its_key() {
    let tables = ["backoff", "limits", "hints", "breaker", "hedge", "on_refusal"];
    for table in tables.into_iter().chain(["concurrency_limit", "rate_limit"]) {
        let listed: BTreeSet<String> = rows(table).iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(listed, known(table), "{table}");
    }
    let listed: BTreeSet<String> = rows("budget").iter().map(|(key, _)| key.to_string()).collect();
    let mut kinds = BTreeSet::new();
    for kind in ["window", "tokens", "throttle", "interval"] {
        kinds.extend(known(&format!("budget.{kind}")).iter().map(|key| format!("{kind}.{key}")));
    }
    assert_eq!(listed, kinds);
    let listed: BTreeSet<String> =
        rows("adaptive").iter().map(|(key, _)| key.to_string()).collect();
    let known = known("adaptive.throttle");
    assert_eq!(listed, known.iter().map(|key| format!("throttle.{key}")).collect());
}

#[test]
fn every_default_is_the_one_that_the_table_names() {
    for table in ["backoff", "limits", "hints", "on_refusal"] {
        for (key, default) in rows(table).iter().filter(|(_, default)| *default != "none") {
            let text = format!("[{table}]\n{key} = {default}");
            let policy: Policy = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(policy, Policy::default(), "{text}");
        }
    }
    for (key, default) in rows("adaptive") {
        let text = format!("[adaptive]\n{key} = {default}");
        let policy: Policy = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        let usual = AdaptivePlan::Throttle(ClientThrottlePlan::default());
        assert_eq!(policy.adaptive(), Some(&usual), "{text}");
    }
    let with = |table: &str, rest: &str| {
        let text = format!("[{table}]\n{rest}");
        toml::from_str::<Policy>(&text).unwrap_or_else(|error| panic!("{error}"))
    };
    for (key, default) in rows("concurrency_limit").iter().skip(1) {
        let queue = if *key == "max_wait" { "max_queued = 3\n" } else { "" };
        let given = format!("max_concurrent = 5\n{queue}{key} = {default}");
        let left_out = with("concurrency_limit", &format!("max_concurrent = 5\n{queue}"));
        assert_eq!(with("concurrency_limit", &given), left_out, "{key}");
    }
    for (key, default) in rows("rate_limit").iter().skip(1) {
        let given = with("rate_limit", &format!("rate = 5\n{key} = {default}"));
        assert_eq!(given, with("rate_limit", "rate = 5"), "{key}");
    }
    let breaker = rows("breaker");
    let own = |default: &&str| *default != "none" && !default.contains("with");
    for (key, default) in breaker.iter().filter(|(_, default)| own(default)) {
        let text = format!("[breaker]\n{key} = {default}");
        let policy: Policy = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(policy.breaker(), Some(&BreakerPlan::default()), "{text}");
    }
}
