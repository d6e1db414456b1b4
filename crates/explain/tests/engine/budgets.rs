//! The load under each kind of budget, against calls that overlap in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stagger_core::budget::{BudgetPlan, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};
use stagger_core::retry::{Action, Call, Launched, PlainLedger, Session, Wait};
use stagger_core::{ConfigError, Entropy, Instant, Outcome, Policy, Ratio, Span, Verdict};
use stagger_explain::{Setting, explain};
use stagger_testkit::Mix;

const RPS: u32 = 200;
const CALLS: u64 = 60_000;
/// Calls before a budget has settled.
const SETTLING: u64 = 10_000;

/// Attempts for each call at this share of failures, over the calls that come after the settling.
fn load(policy: &Policy, failing: f64) -> f64 {
    let mut ledger = PlainLedger::new(policy);
    let mut chance = Mix::new(9);
    let mut waiting: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
    let mut sessions: Vec<Option<Session<'_>>> = Vec::new();
    let mut attempts = 0_u64;
    let gap = Span::from_nanos(1_000_000_000 / u64::from(RPS));
    for number in 0..CALLS {
        let now = Instant::ORIGIN + gap.saturating_mul(number);
        while let Some(&Reverse((at, index))) = waiting.peek() {
            if at > now {
                break;
            }
            waiting.pop();
            let mut session = sessions[index].take().expect("it waits");
            let act = session.on_wake(&mut ledger, at);
            if let Action::Attempt(launched) = act {
                attempts += u64::from(index as u64 >= SETTLING);
                if let Some(wake) =
                    settle(&mut session, &mut ledger, (at, launched), failing, &mut chance)
                {
                    waiting.push(Reverse((wake, index)));
                    sessions[index] = Some(session);
                }
            }
        }
        let (mut session, act) = Session::start(policy, &mut ledger, Call::idempotent(), now);
        let Action::Attempt(launched) = act else { unreachable!("no breaker stands before it") };
        attempts += u64::from(number >= SETTLING);
        let wake = settle(&mut session, &mut ledger, (now, launched), failing, &mut chance);
        if let Some(wake) = wake {
            waiting.push(Reverse((wake, sessions.len())));
        }
        sessions.push(wake.map(|_| session));
    }
    attempts as f64 / (CALLS - SETTLING) as f64
}

/// Draws what the attempt comes to, and says when the next may be.
fn settle(
    session: &mut Session<'_>,
    ledger: &mut PlainLedger,
    (now, launched): (Instant, Launched),
    failing: f64,
    chance: &mut Mix,
) -> Option<Instant> {
    let fails = (chance.next_u64() as f64) < failing * u64::MAX as f64;
    let verdict = if fails { Verdict::Transient } else { Verdict::Ok };
    match session.on_outcome(ledger, now, launched, &Outcome::new(verdict), chance) {
        Action::Wait(Wait::Until(at)) => Some(at),
        _ => None,
    }
}

fn plans() -> Result<Vec<BudgetPlan>, ConfigError> {
    Ok(vec![
        BudgetPlan::Unlimited,
        BudgetPlan::None,
        WindowPlan::new(Ratio::from_percent(20))?.into(),
        TokenPlan::aws_2_0().into(),
        TokenPlan::aws_2_1().into(),
        ThrottlePlan::new(10, Ratio::from_percent(10))?.into(),
        ThrottlePlan::new(100, Ratio::from_percent(50))?.into(),
        IntervalPlan::new(8, Span::from_millis(500))?.into(),
    ])
}

#[test]
fn each_budget_lets_through_what_is_said_of_it() -> Result<(), ConfigError> {
    let setting = Setting { rps: Some(f64::from(RPS)), ..Setting::default() };
    for plan in plans()? {
        let policy = Policy::builder().budget(plan).max_attempts(4).build()?;
        for factor in explain(&policy, &setting).load {
            let seen = load(&policy, f64::from(factor.failing_percent) / 100.0);
            let said = factor.with_budget;
            let off = (seen - said).abs();
            assert!(off < 0.02, "{plan:?} at {} %: {seen}, not {said}", factor.failing_percent);
        }
    }
    Ok(())
}
