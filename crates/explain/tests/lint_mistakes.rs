//! Realistic mistakes, each of which the lint finds with the figure that proves it.

use stagger_core::{Policy, Span};
use stagger_explain::{Code, PolicyFinding, Setting, explain, lint};
use toml::{Table, Value};

const MISTAKES: &str = include_str!("mistakes.toml");

/// One policy with a mistake in it.
struct Mistake {
    name: String,
    expect: Code,
    figure: String,
    policy: Policy,
    setting: Setting,
}

impl Mistake {
    fn read(name: &str, value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().expect("a text").to_owned();
        let expect = text("expect");
        let policy = value["policy"].clone().try_into();
        Self {
            name: name.to_owned(),
            expect: expect.parse().unwrap_or_else(|_| panic!("{name}: no code {expect}")),
            figure: text("figure"),
            policy: policy.unwrap_or_else(|error| panic!("{name}: {error}")),
            setting: setting(value.get("calls").and_then(Value::as_table)),
        }
    }

    fn found(&self) -> Option<PolicyFinding> {
        let found = lint(&self.policy, &self.setting);
        found.into_iter().find(|finding| finding.code == self.expect)
    }
}

fn setting(calls: Option<&Table>) -> Setting {
    let get = |key: &str| calls.and_then(|calls| calls.get(key));
    let whole = |key: &str| get(key).and_then(Value::as_integer);
    let count = |key: &str| whole(key).map(|n| u32::try_from(n).expect("a count"));
    let number = |key: &str| {
        get(key)
            .map(|value| value.as_float().unwrap_or_else(|| count(key).expect("a number").into()))
    };
    let span = |text: &str| text.parse::<Span>().expect("a span");
    Setting {
        slo: get("slo").and_then(Value::as_str).map(span),
        p99: get("p99").and_then(Value::as_str).map(span),
        rps: number("rps"),
        fleet: count("fleet"),
        downstream_capacity: number("downstream_capacity"),
        layers: count("layers"),
        idempotent: get("idempotent").and_then(Value::as_bool),
    }
}

fn mistakes() -> Vec<Mistake> {
    let all: Table = toml::from_str(MISTAKES).expect("TOML");
    all.iter().map(|(name, value)| Mistake::read(name, value)).collect()
}

#[test]
fn mistakes_that_were_found_by_hand_had_no_finding() {
    let all = mistakes();
    assert!(all.len() >= 60, "{} mistakes", all.len());
    let missed: Vec<String> = all
        .iter()
        .filter_map(|mistake| {
            let message = mistake.found().map(|finding| finding.message);
            let proven = message.as_ref().is_some_and(|it| it.contains(&mistake.figure));
            (!proven).then(|| format!("{}: {}: {message:?}", mistake.name, mistake.expect))
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn a_mistake_has_a_fix_and_explain_tells_it_too() {
    for mistake in mistakes() {
        let finding = mistake.found().expect("found");
        assert!(finding.fix.len() > 8 && finding.key.contains(['.', 'u']), "{finding:?}");
        let told = explain(&mistake.policy, &mistake.setting).findings;
        assert!(told.contains(&finding), "{}", mistake.name);
    }
}

#[test]
fn each_code_that_judges_a_policy_has_a_mistake() {
    let all = mistakes();
    let of_policies =
        |code: &&Code| **code != Code::UnusedAllow && !code.name().starts_with("route-");
    for code in Code::ALL.iter().filter(of_policies) {
        assert!(all.iter().any(|mistake| mistake.expect == *code), "{code}");
    }
}
