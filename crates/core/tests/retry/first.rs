//! A call that is kept as its first attempt goes on as the session that was started with it.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, TokenPlan};
use stagger_core::retry::{Action, Call, FirstAttempt, PlainLedger, Session};
use stagger_core::{ConfigError, Instant, Outcome, Policy, Span, Verdict};

fn policies() -> Result<[Policy; 4], ConfigError> {
    let breaker = BreakerPlan::builder().consecutive(2).build()?;
    let builder = || Policy::builder().deadline(Span::from_secs(9));
    Ok([
        Policy::default(),
        builder().budget(BudgetPlan::Unlimited).build()?,
        builder().budget(TokenPlan::new(10, 5)?).breaker(breaker).build()?,
        builder().breaker(breaker).wait_for_breaker(true).build()?,
    ])
}

/// The actions of five calls one after another, each with the same outcomes.
fn story(
    policy: &Policy,
    start: impl Fn(&Policy, &mut PlainLedger, Call, Instant) -> Vec<Action>,
) -> Vec<Action> {
    let mut ledger = PlainLedger::new(policy);
    let at = |n: u64| Instant::ORIGIN + Span::from_millis(n * 700);
    let call = |n: u64| if n % 2 == 0 { Call::idempotent() } else { Call::once() };
    (0..12).flat_map(|n| start(policy, &mut ledger, call(n), at(n))).collect()
}

fn go_on(
    (mut session, mut act): (Session<'_>, Action),
    ledger: &mut PlainLedger,
    mut now: Instant,
) -> Vec<Action> {
    let mut acts = vec![act];
    for _ in 0..6 {
        act = match act {
            Action::Attempt(launched) => {
                let failed = Outcome::new(Verdict::Transient);
                session.on_outcome(ledger, now, launched, &failed, &mut || 1 << 60)
            }
            Action::Wait(_) => {
                now = now + Span::from_secs(1);
                session.on_wake(ledger, now)
            }
            Action::Hedge(_) | Action::Done(_) => return acts,
        };
        acts.push(act);
    }
    acts
}

#[test]
fn a_call_kept_as_its_first_attempt_went_on_otherwise_than_its_session() -> Result<(), ConfigError>
{
    for policy in policies()? {
        let whole = story(&policy, |policy, ledger, call, now| {
            let started = Session::start(policy, ledger, call, now);
            go_on(started, ledger, now)
        });
        let short = story(&policy, |policy, ledger, call, now| {
            let started = match FirstAttempt::start(policy, ledger, call, now) {
                Ok(first) => {
                    let (session, launched) = first.session(policy);
                    (session, Action::Attempt(launched))
                }
                Err(refused) => refused.session(policy, ledger, call, now),
            };
            go_on(started, ledger, now)
        });
        assert_eq!(whole, short, "{policy:?}");
        // A call that starts with anything but its first attempt was refused.
        let refused = |pair: &[Action]| {
            matches!(pair[0], Action::Done(_)) && !matches!(pair[1], Action::Attempt(_))
        };
        let is_refused = whole.windows(2).any(refused);
        assert_eq!(is_refused, policy.breaker().is_some(), "the story shows a refusal: {policy:?}");
    }
    Ok(())
}

#[test]
fn a_success_told_the_ledger_otherwise_than_its_session() -> Result<(), ConfigError> {
    for policy in policies()? {
        let (mut whole, mut short) = (PlainLedger::new(&policy), PlainLedger::new(&policy));
        for n in 0..30 {
            let now = Instant::ORIGIN + Span::from_millis(n * 40);
            let (mut session, act) = Session::start(&policy, &mut whole, Call::once(), now);
            let Action::Attempt(launched) = act else { panic!("every call succeeds") };
            let _ = session.on_outcome(&mut whole, now, launched, &Outcome::OK, &mut || 7);
            let first = FirstAttempt::start(&policy, &mut short, Call::once(), now);
            let first = first.expect("every call succeeds");
            first.succeed(&mut short, now, &Outcome::OK, &mut || 7);
            assert_eq!(format!("{whole:?}"), format!("{short:?}"), "{policy:?}");
        }
    }
    Ok(())
}
