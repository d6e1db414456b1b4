//! Every attempt that `choose` promises can start, as the engine plays the policy with its budget and
//! breaker at the stated rate.

use stagger_core::budget::Settled;
use stagger_core::retry::{Action, Call, Ledger, PlainLedger, Session, Wait};
use stagger_core::{Instant, Outcome, Policy, Span, Verdict};
use stagger_explain::{Answers, Code, Repeat, Setting, choose, explain, lint};
use stagger_testkit::Mix;

/// First attempts a second where the answer does not say.
const USUAL_RPS: f64 = 50.0;
/// Seconds of successful calls before the failures.
const WARM_UP: u64 = 20;
/// Calls of an outage.
const CALLS: u64 = 200;

/// A broad sample of answers whose policies retry.
fn sample() -> Vec<Answers> {
    let start = Answers { repeat: Repeat::Idempotent, ..Answers::default() };
    let mut all = vec![start];
    let mut vary = |set: &dyn Fn(&Answers) -> Vec<Answers>| {
        all = all.iter().flat_map(set).collect();
    };
    vary(&|a| [1, 99, 100, 5_000, 1_000_000].map(|callers| Answers { callers, ..*a }).to_vec());
    let rates = [None, Some(0.001), Some(0.1), Some(1.0), Some(2.5), Some(9.9), Some(10.0)];
    vary(&|a| rates.map(|rps| Answers { rps, ..*a }).to_vec());
    let waits = [None, Some(Span::from_millis(500)), Some(Span::from_secs(30))];
    vary(&|a| waits.map(|minimum_wait| Answers { minimum_wait, ..*a }).to_vec());
    vary(&|a| [true, false].map(|background| Answers { background, ..*a }).to_vec());
    let slos = [None, Some(2), Some(30), Some(3_600), Some(2_592_000)];
    vary(&|a| slos.map(|slo| Answers { slo: slo.map(Span::from_secs), ..*a }).to_vec());
    vary(&|a| [1, 3].map(|layers| Answers { layers, ..*a }).to_vec());
    all
}

fn policy(answers: &Answers) -> Policy {
    let choice = choose(answers).unwrap_or_else(|error| panic!("{answers:?}: {error}"));
    choice.policy.expect("these failures heal")
}

/// Other calls of the process, which succeed at their first attempt until `to`.
fn others(ledger: &mut PlainLedger, from: &mut Instant, to: Instant, gap: Span) {
    while *from < to {
        let permit = ledger.admit(*from);
        ledger.on_first(*from);
        ledger.on_settled(*from, Settled::FirstTry);
        if let stagger_core::breaker::Admission::Admitted(ticket) = permit {
            let success = stagger_core::breaker::Report::Success;
            ledger.report(*from, ticket, success, &mut Mix::new(1));
        }
        *from = *from + gap;
    }
}

/// The time between two calls at this rate.
// OK because the rates played are positive and far above one call in a century.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, in bounds")]
fn gap(rps: f64) -> Span {
    Span::from_nanos((1e9 / rps) as u64)
}

/// The attempts of a call that fails for ever while the other calls succeed.
fn alone(policy: &Policy, rps: f64, seed: u64) -> u32 {
    let gap = gap(rps);
    let (mut ledger, mut entropy) = (PlainLedger::new(policy), Mix::new(seed));
    let mut traffic = Instant::ORIGIN;
    let mut now = Instant::ORIGIN + Span::from_secs(WARM_UP);
    others(&mut ledger, &mut traffic, now, gap);
    let (mut call, mut act) = Session::start(policy, &mut ledger, Call::idempotent(), now);
    let mut made = 0;
    loop {
        act = match act {
            Action::Attempt(launched) => {
                made += 1;
                let failed = Outcome::new(Verdict::Transient);
                call.on_outcome(&mut ledger, now, launched, &failed, &mut entropy)
            }
            Action::Wait(Wait::Until(at)) => {
                others(&mut ledger, &mut traffic, at, gap);
                now = at;
                call.on_wake(&mut ledger, now)
            }
            Action::Done(_) => return made,
            Action::Hedge(_) | Action::Wait(Wait::Copies { .. }) => {
                unreachable!("nothing hedges here")
            }
        };
    }
}

/// The most attempts of any call when all calls fail for ever, one after the other at this rate.
fn all_failing(policy: &Policy, rps: f64) -> u32 {
    let gap = gap(rps);
    let (mut ledger, mut entropy) = (PlainLedger::new(policy), Mix::new(3));
    let mut traffic = Instant::ORIGIN;
    let outage = Instant::ORIGIN + Span::from_secs(WARM_UP);
    others(&mut ledger, &mut traffic, outage, gap);
    let mut calls: Vec<(Instant, u32, Session<'_>)> = Vec::new();
    let (mut started, mut most) = (0, 0);
    while started < CALLS || !calls.is_empty() {
        let next = outage + gap.saturating_mul(started);
        let due = calls.iter().enumerate().min_by_key(|(_, (at, ..))| *at).map(|(n, it)| (n, it.0));
        let (now, mut made, mut call, act) = match due {
            Some((n, at)) if started >= CALLS || at <= next => {
                let (_, made, mut call) = calls.swap_remove(n);
                let act = call.on_wake(&mut ledger, at);
                (at, made, call, act)
            }
            _ => {
                started += 1;
                let (call, act) = Session::start(policy, &mut ledger, Call::idempotent(), next);
                (next, 0, call, act)
            }
        };
        let act = if let Action::Attempt(launched) = act {
            made += 1;
            most = most.max(made);
            let failed = Outcome::new(Verdict::Transient);
            call.on_outcome(&mut ledger, now, launched, &failed, &mut entropy)
        } else {
            act
        };
        if let Action::Wait(Wait::Until(at)) = act {
            calls.push((at, made, call));
        }
    }
    most
}

#[test]
fn an_attempt_that_choose_promised_could_never_start_under_its_budget() {
    for answers in sample() {
        let policy = policy(&answers);
        let promised = policy.limits().max_attempts().expect("always limited");
        let rps = answers.rps.unwrap_or(USUAL_RPS);
        let made = (0..5).map(|seed| alone(&policy, rps, seed)).max();
        assert_eq!(made, Some(promised), "{answers:?}: {policy:?}");
    }
}

#[test]
fn in_an_outage_no_call_came_to_its_third_attempt() {
    for answers in sample().into_iter().filter(|it| !it.background && it.minimum_wait.is_none()) {
        let policy = policy(&answers);
        // Waits longer than the gap between calls leave every place to the calls that come after.
        let gap = 1.0 / answers.rps.unwrap_or(USUAL_RPS);
        if policy.backoff().base().as_secs_f64() > gap {
            continue;
        }
        let promised = policy.limits().max_attempts().expect("always limited");
        let made = all_failing(&policy, answers.rps.unwrap_or(USUAL_RPS));
        assert_eq!(made, promised, "{answers:?}: {policy:?}");
    }
}

#[test]
fn explain_and_lint_said_that_attempts_start_which_the_budget_refuses() {
    for budget in [
        "interval = { retries = 1, interval = '10s' }",
        "throttle = { max_tokens = 1, token_ratio = 0.1 }",
        "throttle = { max_tokens = 2, token_ratio = 0.1 }",
        "tokens = { capacity = 9, retry = 5 }",
        "window = { ratio = 0.1, floor = 0 }",
    ] {
        let text =
            format!("limits = {{ max_attempts = 3, attempt_timeout = '1s' }}\nbudget.{budget}");
        let policy: Policy = toml::from_str(&text).expect("valid");
        let setting = Setting { rps: Some(0.5), ..Setting::default() };
        let figures = explain(&policy, &setting);
        let found = figures.findings.iter().find(|it| it.code == Code::AttemptsNeverStart);
        let found = found.unwrap_or_else(|| panic!("{budget}: {:?}", figures.findings));
        assert!(found.key.starts_with("budget."), "{found:?}");
        assert!(figures.attempts.len() < 3, "{budget}: {:?}", figures.attempts);
        let once = policy.to_builder().max_attempts(1).build().expect("valid");
        assert!(lint(&once, &setting).iter().all(|it| it.code != Code::AttemptsNeverStart));
    }
}
