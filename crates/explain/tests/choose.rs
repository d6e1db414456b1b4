//! Every combination of answers: the policy builds, keeps its promises, and gives its reasons.

use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::{Backoff, Jitter, Policy, Span};
use stagger_explain::{Answers, Choice, QUESTIONS, QuestionKey, Repeat, choose, lint};

/// Every combination of answers of each kind and size.
fn every() -> Vec<Answers> {
    let mut all = vec![Answers::default()];
    let mut vary = |set: &dyn Fn(&Answers) -> Vec<Answers>| {
        all = all.iter().flat_map(set).collect();
    };
    vary(&|a| [true, false].map(|retryable| Answers { retryable, ..*a }).to_vec());
    let repeats = [Repeat::Idempotent, Repeat::Keyed, Repeat::Never];
    vary(&|a| repeats.map(|repeat| Answers { repeat, ..*a }).to_vec());
    vary(&|a| [1, 99, 100, 5_000, 1_000_000_000].map(|callers| Answers { callers, ..*a }).to_vec());
    let rates = [None, Some(0.001), Some(1.0), Some(7.5), Some(20.0), Some(1e6)];
    vary(&|a| rates.map(|rps| Answers { rps, ..*a }).to_vec());
    let waits = ["0s", "1ms", "100ms", "500ms", "30s", "1d"].map(span);
    let waits: Vec<_> = [None].into_iter().chain(waits.map(Some)).collect();
    vary(&|a| waits.iter().map(|&minimum_wait| Answers { minimum_wait, ..*a }).collect());
    vary(&|a| [true, false].map(|background| Answers { background, ..*a }).to_vec());
    let slos = ["10ms", "250ms", "2s", "3s", "10s", "60s", "1h", "30d"].map(span);
    let slos: Vec<_> = [None].into_iter().chain(slos.map(Some)).collect();
    vary(&|a| slos.iter().map(|&slo| Answers { slo, ..*a }).collect());
    vary(&|a| [true, false].map(|rate_limited| Answers { rate_limited, ..*a }).to_vec());
    vary(&|a| [1, 3, 10].map(|layers| Answers { layers, ..*a }).to_vec());
    all
}

fn span(text: &str) -> Span {
    text.parse().expect("a span")
}

fn chosen(answers: &Answers) -> Choice {
    choose(answers).unwrap_or_else(|error| panic!("{answers:?}: {error}"))
}

fn policies() -> impl Iterator<Item = (Answers, Policy)> {
    every().into_iter().filter_map(|answers| Some((answers, chosen(&answers).policy?)))
}

fn retried() -> impl Iterator<Item = (Answers, Policy)> {
    policies().filter(|(_, policy)| policy.limits().max_attempts() > Some(1))
}

/// The longest that the waits of a call can add up to, whichever rule each of them comes from.
fn waits(policy: &Policy) -> Span {
    let attempts = policy.limits().max_attempts().expect("always limited");
    let longer = |k| policy.backoff().ceiling(k).max(policy.throttled_backoff().ceiling(k));
    (1..attempts).fold(Span::ZERO, |sum, k| sum + longer(k))
}

fn shortest(rule: &Backoff) -> Span {
    rule.delay(1, rule.base(), &mut || 0)
}

#[test]
fn there_is_a_policy_exactly_when_failures_heal() {
    for answers in every() {
        let choice = chosen(&answers);
        assert_eq!(choice.policy.is_some(), answers.retryable, "{answers:?}");
        assert!(choice.policy.is_some() || choice.notes.len() == 1, "the reason");
    }
}

#[test]
fn the_worst_case_takes_a_third_of_the_slo_and_every_attempt_can_start() {
    for (answers, policy) in policies() {
        let limits = policy.limits();
        let attempts = limits.max_attempts().expect("always limited");
        let each = limits.attempt_timeout().expect("always limited");
        let deadline = limits.deadline().expect("always limited");
        if let Some(slo) = answers.slo {
            assert_eq!(deadline, slo);
            let worst = each.saturating_mul(u64::from(attempts)) + waits(&policy);
            assert!(worst.as_nanos() <= slo.as_nanos() / 3, "{answers:?}: {policy:?}");
        }
        let all = each.saturating_mul(u64::from(attempts)) + waits(&policy);
        assert!(all <= deadline, "{answers:?}: {all} of {deadline}");
    }
}

/// Answers that know the pace of healthy attempts, from far below the SLO to above it.
fn paced() -> Vec<Answers> {
    let mut all = vec![Answers::default()];
    let mut vary = |set: &dyn Fn(&Answers) -> Vec<Answers>| {
        all = all.iter().flat_map(set).collect();
    };
    vary(&|a| [Repeat::Idempotent, Repeat::Never].map(|repeat| Answers { repeat, ..*a }).to_vec());
    vary(&|a| [true, false].map(|background| Answers { background, ..*a }).to_vec());
    vary(&|a| [1, 5_000].map(|callers| Answers { callers, ..*a }).to_vec());
    vary(&|a| [None, Some(7.5)].map(|rps| Answers { rps, ..*a }).to_vec());
    vary(&|a| [None, Some("500ms")].map(|w| Answers { minimum_wait: w.map(span), ..*a }).to_vec());
    let slos = [None, Some("250ms"), Some("2s"), Some("10s"), Some("1h")];
    vary(&|a| slos.map(|slo| Answers { slo: slo.map(span), ..*a }).to_vec());
    let paces = ["1ms", "90ms", "400ms", "1s", "7s", "10m"];
    vary(&|a| paces.map(|p99| Answers { p99: Some(span(p99)), ..*a }).to_vec());
    all
}

#[test]
fn a_healthy_attempt_was_cut_off_and_repeated() {
    for answers in paced() {
        let (policy, p99) = (chosen(&answers).policy.expect("heals"), answers.p99.expect("known"));
        let slo = answers.slo.unwrap_or(Span::MAX);
        let attempts = policy.limits().max_attempts().expect("always limited");
        let each = policy.limits().attempt_timeout().expect("always limited");
        assert!(each >= p99.saturating_mul(3).min(slo), "{answers:?}: {policy:?}");
        assert!(each <= slo && policy.limits().deadline() <= Some(slo), "{answers:?}: {policy:?}");
        let pace = p99.saturating_mul(u64::from(attempts)) + waits(&policy);
        assert!(pace <= slo || attempts == 1, "{answers:?}: {pace} for {attempts} attempts");
        let found = lint(&policy, &answers.setting());
        assert!(found.is_empty() || p99 > slo, "{answers:?}: {policy:?}: {found:?}");
    }
}

#[test]
fn a_slow_pace_leaves_the_retries_of_failures() {
    // An SLO of twice the p99: two attempts at that pace, and none is cut off before the SLO.
    let answers = |p99: &str| Answers {
        repeat: Repeat::Idempotent,
        slo: Some(span("2s")),
        p99: Some(span(p99)),
        ..Answers::default()
    };
    let limits = |p99| *chosen(&answers(p99)).policy.expect("heals").limits();
    assert_eq!(limits("800ms").max_attempts(), Some(2));
    assert_eq!(limits("800ms").attempt_timeout(), Some(span("2s")));
    // With time enough nothing changes but what the time limit is measured by.
    assert_eq!(limits("20ms").max_attempts(), Some(3));
    assert_eq!(limits("100ms").attempt_timeout(), Some(span("300ms")));
    let unknown = chosen(&Answers { p99: None, ..answers("20ms") });
    assert!(unknown.notes.iter().any(|note| note.contains("Compare attempt_timeout")));
}

#[test]
fn no_wait_is_shorter_than_the_destination_needs_and_all_are_spread() {
    for (answers, policy) in retried() {
        for rule in [policy.backoff(), policy.throttled_backoff()] {
            assert!(rule.jitter() != Jitter::None && !rule.base().is_zero());
            let least = answers.minimum_wait.unwrap_or(Span::ZERO);
            assert!(shortest(rule) >= least, "{answers:?}: {rule:?}");
            let spread = rule.base() - shortest(rule);
            assert!(spread.as_nanos() * 100 >= rule.base().as_nanos() * 24, "{rule:?}");
        }
    }
}

#[test]
fn nothing_is_wrong_with_what_is_chosen() {
    for (answers, policy) in policies() {
        let found = lint(&policy, &answers.setting());
        assert!(found.is_empty(), "{answers:?}: {policy:?}: {found:?}");
    }
}

#[test]
fn what_may_not_be_sent_twice_is_sent_once() {
    for (answers, policy) in policies().filter(|(answers, _)| answers.repeat == Repeat::Never) {
        assert_eq!(policy.limits().max_attempts(), Some(1));
        let notes = chosen(&answers).notes.join(" ");
        assert!(notes.contains("Idempotency-Key"), "{notes}");
    }
}

#[test]
fn what_may_be_sent_twice_is_retried_whenever_a_wait_fits() {
    for (answers, policy) in policies().filter(|(answers, _)| answers.repeat != Repeat::Never) {
        let least = answers.minimum_wait.unwrap_or(Span::ZERO);
        let room = answers.slo.map_or(Span::MAX, |slo| Span::from_nanos(slo.as_nanos() / 6));
        // A quarter of the room is for the spread, and a few percent are lost to round figures.
        let fits = room.as_nanos() / 100 * 70 > least.as_nanos();
        assert!(policy.limits().max_attempts() > Some(1) || !fits, "{answers:?}");
    }
}

#[test]
fn a_budget_is_always_there_and_floors_of_many_do_not_add_up() {
    for (answers, policy) in retried() {
        match policy.budget() {
            BudgetPlan::Window(plan) if answers.callers >= 100 && answers.rps.is_some() => {
                assert_eq!(plan.floor(), FloorRate::Add(stagger_core::Rate::ZERO), "{answers:?}");
            }
            BudgetPlan::Window(plan) => assert_eq!(plan.floor(), WindowPlan::default().floor()),
            BudgetPlan::Interval(_) => assert!(answers.rps.is_some_and(|rps| rps < 10.0)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn hints_are_obeyed_as_far_as_we_would_wait_ourselves() {
    for (answers, policy) in retried() {
        let caps = [policy.backoff().cap(), policy.throttled_backoff().cap()];
        assert!(caps.iter().all(|cap| policy.hints().max() >= *cap), "{answers:?}");
        if answers.rate_limited && answers.slo.is_none() {
            assert!(policy.hints().max() >= span("60s"));
            assert!(policy.throttled_backoff().base() >= span("1s"), "{answers:?}");
        }
    }
}

#[test]
fn more_callers_do_not_come_back_in_a_larger_wave() {
    for callers in [1, 100, 1_000, 5_000, 50_000, 300_000] {
        let answers = Answers { callers, repeat: Repeat::Idempotent, ..Answers::default() };
        let policy = chosen(&answers).policy.expect("retried");
        let wave = u64::from(callers) * 1_000_000_000 / policy.backoff().base().as_nanos();
        assert!(wave <= 10_000, "{callers} callers: {wave}/s");
    }
}

#[test]
fn a_reason_fits_beside_its_line() {
    for answers in every() {
        for line in chosen(&answers).lines {
            assert!((8..=170).contains(&line.reason.len()), "{}: {}", line.key, line.reason);
            assert!(!line.reason.contains(['\n', '"']) && !line.reason.ends_with('.'), "{line:?}");
        }
    }
}

#[test]
fn an_answer_reads_back_as_it_is_written() {
    for answers in every() {
        let mut read = Answers::default();
        for question in QUESTIONS {
            let text = answers.text(question.key);
            read.set(question.key, &text).unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!(read, answers);
    }
}

#[test]
fn a_wrong_answer_is_refused_with_its_bound_and_changes_nothing() {
    let span = "a span with its unit right behind the number, such as 5s or 250ms, or none";
    for (key, text, bound) in [
        (QuestionKey::Retryable, "maybe", "yes or no"),
        (QuestionKey::Idempotent, "", "yes, no or key"),
        (QuestionKey::Callers, "0", "a whole number from 1 to 1000000000"),
        (QuestionKey::Callers, "-5", "a whole number from 1 to 1000000000"),
        (QuestionKey::Rps, "nan", "a number from 0.001 to 1000000, or unknown"),
        (QuestionKey::Rps, "inf", "a number from 0.001 to 1000000, or unknown"),
        (QuestionKey::MinimumWait, "2d", "from 0s to 1d, or none"),
        (QuestionKey::Slo, "5", span),
        (QuestionKey::Slo, "1ms", "from 10ms to 30d, or none"),
        (QuestionKey::P99, "0s", "a span from 1us to 3600s, or unknown"),
        (QuestionKey::P99, "2h", "a span from 1us to 3600s, or unknown"),
        (QuestionKey::Layers, "11", "a whole number from 1 to 10"),
    ] {
        let mut answers = Answers::default();
        let error = answers.set(key, text).unwrap_err();
        assert_eq!((error.field(), error.bound()), (key.name(), bound));
        assert_eq!(answers, Answers::default());
    }
}
