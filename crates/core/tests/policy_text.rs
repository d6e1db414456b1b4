//! Policies as TOML and JSON: what is written reads back, and what is read is what was written.
#![cfg(feature = "serde")]

mod policies;

use policies::any_policy;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::budget::{BudgetPlan, FloorRate, TokenPlan, WindowPlan};
use stagger_core::{Backoff, HintRule, Jitter, LongHint, Policy, Rate, Ratio, Span};

fn read(text: &str) -> Policy {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn every_policy_reads_back_equal(policy in any_policy()) {
        let text = toml::to_string(&policy).unwrap();
        prop_assert_eq!(&toml::from_str::<Policy>(&text).unwrap(), &policy, "{}", text);
        let pretty = toml::to_string_pretty(&policy).unwrap();
        prop_assert_eq!(&toml::from_str::<Policy>(&pretty).unwrap(), &policy, "{}", pretty);
        let json = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Policy>(&json).unwrap(), &policy, "{}", json);
    }
}

#[test]
fn nothing_written_is_the_default() {
    assert_eq!(read(""), Policy::default());
    assert_eq!(serde_json::from_str::<Policy>("{}").unwrap(), Policy::default());
    let empty = "[backoff]\n[limits]\n[hints]\n[budget.window]\n[on_refusal]";
    assert_eq!(read(empty), Policy::default());
    assert_eq!(read("[breaker]").breaker(), Some(&BreakerPlan::default()));
}

#[test]
fn the_default_is_written_short_enough_to_read() {
    let text = toml::to_string(&Policy::default()).unwrap();
    let lines = [
        "[backoff]",
        "envelope = \"exponential\"",
        "base = \"100ms\"",
        "cap = \"10s\"",
        "jitter = \"full\"",
        "",
        "[limits]",
        "max_attempts = 3",
        "",
        "[hints]",
        "max = \"60s\"",
        "spread = 0.5",
        "long = \"stop\"",
        "",
        "[budget.window]",
        "ratio = 0.1",
        "window = \"10s\"",
        "floor = 0.05",
        "",
    ];
    assert_eq!(text, lines.join("\n"));
}

#[test]
fn whole_numbers_are_read_where_decimals_are_expected() {
    let policy = read(
        "backoff = { factor = 3, jitter = { proportional = 1 } }
        hints = { spread = 1 }
        budget = { window = { ratio = 1 } }
        breaker = { ratio = 1, open_factor = 3, ramp_from = 1 }
        hedge = { delay = 0, copies = 2 }",
    );
    assert_eq!(policy.backoff().ceiling(3), Span::from_millis(900));
    assert_eq!(policy.backoff().jitter(), Jitter::Proportional(Ratio::ONE));
    assert_eq!(policy.hints().spread(), Ratio::ONE);
    assert_eq!(policy.budget(), &BudgetPlan::Window(WindowPlan::new(Ratio::ONE).unwrap()));
    assert_eq!(policy.breaker().unwrap().ratio(), Some(Ratio::ONE));
    assert_eq!(policy.breaker().unwrap().ramp(), Some((Ratio::ONE, Span::from_secs(10))));
    assert_eq!(policy.hedge().unwrap().delay(None), Span::ZERO);
}

#[test]
fn the_words_of_every_setting_are_read() {
    for (text, jitter) in [
        ("\"none\"", Jitter::None),
        ("\"full\"", Jitter::Full),
        ("\"equal\"", Jitter::Equal),
        ("\"decorrelated\"", Jitter::Decorrelated),
        ("\"decorrelated-clamped\"", Jitter::DecorrelatedClamped),
        ("{ proportional = 0.5 }", Jitter::Proportional(Ratio::from_percent(50))),
        ("{ symmetric = 0.2 }", Jitter::Symmetric(Ratio::from_percent(20))),
    ] {
        assert_eq!(read(&format!("backoff.jitter = {text}")).backoff().jitter(), jitter);
    }
    for (text, long) in [
        ("\"stop\"", LongHint::Stop),
        ("\"shorten\"", LongHint::Shorten),
        ("{ own_delay_plus = \"5s\" }", LongHint::OwnDelayPlus(Span::from_secs(5))),
    ] {
        assert_eq!(read(&format!("hints.long = {text}")).hints().long(), long);
    }
    for (text, budget) in [
        ("\"unlimited\"", BudgetPlan::Unlimited),
        ("\"none\"", BudgetPlan::None),
        ("{ tokens = { capacity = 500, retry = 5, timeout = 10 } }", TokenPlan::aws_2_0().into()),
    ] {
        assert_eq!(read(&format!("budget = {text}")).budget(), &budget);
    }
    let floor = read("budget.window = { floor = 10, floor_rule = \"at-least\" }");
    let BudgetPlan::Window(plan) = floor.budget() else { panic!("a window") };
    assert_eq!(plan.floor(), FloorRate::AtLeast(Rate::per_second(10)));
    let calls = read("breaker = { window = { calls = 100 }, ratio = \"off\", consecutive = 5 }");
    let breaker = calls.breaker().unwrap();
    assert_eq!((breaker.window(), breaker.ratio()), (WindowKind::Calls(100), None));
}

#[test]
fn a_flat_envelope_needs_no_cap() {
    let policy = read("backoff = { envelope = \"constant\", base = \"30s\", jitter = \"none\" }");
    let rule = Backoff::constant(Span::from_secs(30)).with_jitter(Jitter::None).unwrap();
    assert_eq!(policy.backoff(), &rule);
    assert!(!toml::to_string(&policy).unwrap().contains("cap"));
}

#[test]
fn no_limit_on_attempts_is_a_word_and_wants_a_deadline() {
    let policy = read("limits = { max_attempts = \"unlimited\", deadline = \"1m\" }");
    assert_eq!(policy.limits().max_attempts(), None);
    assert_eq!(policy.limits().deadline(), Some(Span::from_secs(60)));
}

#[test]
fn the_presets_survive() {
    let presets = [
        Policy::aws_standard_2_0(),
        Policy::aws_standard_2_1(),
        Policy::aws_dynamodb(),
        Policy::google_cloud(),
        Policy::webhook(),
        Policy::interactive(),
        Policy::batch(),
    ];
    for policy in presets {
        let text = toml::to_string(&policy).unwrap();
        assert_eq!(read(&text), policy, "{text}");
    }
}

#[test]
fn a_part_is_read_and_written_by_itself() {
    let rule: HintRule = toml::from_str("max = \"5s\"").unwrap();
    assert_eq!(rule.max(), Span::from_secs(5));
    let plan: BudgetPlan = serde_json::from_str("\"unlimited\"").unwrap();
    assert_eq!(plan, BudgetPlan::Unlimited);
    let backoff: Backoff = serde_json::from_str(r#"{"base": "1s"}"#).unwrap();
    assert_eq!(serde_json::to_value(backoff).unwrap()["cap"], "10s");
}

#[test]
fn a_law_has_the_same_name_in_a_policy_as_alone() {
    for law in Jitter::SHARELESS {
        assert_eq!(read(&format!("backoff.jitter = \"{law}\"")).backoff().jitter(), law);
    }
    let share = Ratio::from_percent(50);
    for law in [Jitter::Proportional(share), Jitter::Symmetric(share)] {
        let text = format!("backoff.jitter = {{ {} = 0.5 }}", law.name());
        assert_eq!(read(&text).backoff().jitter(), law);
    }
}
