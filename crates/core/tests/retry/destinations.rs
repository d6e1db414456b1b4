//! Calls and what their destination remembers: budget and breaker.

use stagger_core::breaker::{BreakerPlan, StateKind};
use stagger_core::budget::{BudgetPlan, Charge, TokenPlan};
use stagger_core::retry::{Action, Call, Launched, Ledger, PlainLedger, Session, Stop, Wait};
use stagger_core::{Hint, Instant, Outcome, Policy, Span, Verdict};
use stagger_testkit::{highest, lowest};

use crate::script::{FAILED, Script, at, doubling, secs};

const MISSING: Outcome = Outcome::new(Verdict::Permanent);

fn start<'p>(
    policy: &'p Policy,
    ledger: &mut PlainLedger,
    now: Instant,
) -> (Session<'p>, Option<Launched>, Action) {
    let (session, act) = Session::start(policy, ledger, Call::idempotent(), now);
    let launched = if let Action::Attempt(launched) = act { Some(launched) } else { None };
    (session, launched, act)
}

fn tokens(ledger: &PlainLedger) -> u64 {
    ledger.budget().level(at(0)).held
}

/// A bucket of 100 at 10 a retry, and a breaker that opens for 30 s at the fifth failure in a row.
fn policy() -> Policy {
    let breaker = BreakerPlan::builder().consecutive(5).ratio(None).open_time(secs(30));
    doubling()
        .budget(TokenPlan::new(100, 10).expect("within bounds"))
        .breaker(breaker.build().expect("within bounds"))
        .build()
        .expect("within bounds")
}

/// Opens the breaker at `now` without a token.
fn trip(ledger: &mut PlainLedger, now: Instant) {
    let once = doubling().max_attempts(1).breaker(*policy().breaker().expect("it has one"));
    let once = once.build().expect("within bounds");
    while let (mut session, Some(launched), _) = start(&once, ledger, now) {
        let _ = session.on_outcome(ledger, now, launched, &FAILED, &mut lowest());
    }
    assert_eq!(ledger.breaker().map(|b| b.state(now)), Some(StateKind::Open));
}

// aws/aws-sdk-go-v2 #3413, #1665 and #3189.
#[test]
fn an_empty_bucket_took_the_pause_away_and_gave_no_reason() {
    for pauses in [false, true] {
        let policy = doubling().budget(BudgetPlan::None).pause_when_empty(pauses).build();
        let policy = policy.expect("within bounds");
        let mut script = Script::new(&policy);
        for _worker in 0..256 {
            let run = script.run(&[FAILED.with_hint(Hint::AtLeast(secs(4)))]);
            assert_eq!((run.done.stop, run.starts.len()), (Stop::BudgetEmpty, 1));
            assert_eq!(run.done.pause, if pauses { secs(6) } else { Span::ZERO });
            assert_eq!(run.done.hint, Some(secs(4)), "the hint outlives the refusal");
        }
    }
}

#[test]
fn an_end_that_was_no_empty_budget_paused() {
    let policy = doubling().pause_when_empty(true).max_attempts(2).build().expect("within bounds");
    for outcome in [FAILED, Outcome::OK, MISSING] {
        assert_eq!(Script::new(&policy).run(&[outcome]).done.pause, Span::ZERO);
    }
}

// failsafe-lib/failsafe #393, anza-xyz/agave PR 10478, joshrotenberg/tower-resilience PR 399.
#[test]
fn a_future_dropped_in_its_backoff_lost_or_made_a_token() {
    let policy = policy();
    let mut ledger = PlainLedger::new(&policy);
    for _ in 0..1_000 {
        let (mut session, launched, _) = start(&policy, &mut ledger, at(0));
        let launched = launched.expect("closed");
        let act = session.on_outcome(&mut ledger, at(0), launched, &FAILED, &mut lowest());
        assert!(matches!(act, Action::Wait(_)));
        assert_eq!(tokens(&ledger), 90);
        let _ = session.cancel(&mut ledger, at(0));
        let _ = session.cancel(&mut ledger, at(0)); // told twice, given back once
        assert_eq!(tokens(&ledger), 100);
        // A success between two, so that the breaker stays closed.
        let (mut session, launched, _) = start(&policy, &mut ledger, at(0));
        let launched = launched.expect("closed");
        let _ = session.on_outcome(&mut ledger, at(0), launched, &Outcome::OK, &mut lowest());
    }
}

/// A call of this policy whose first attempt failed at the origin, and whose retry was launched a second later.
fn retry_launched<'p>(policy: &'p Policy, ledger: &mut PlainLedger) -> (Session<'p>, Launched) {
    let (mut session, launched, _) = start(policy, ledger, at(0));
    let first = launched.expect("closed");
    let _ = session.on_outcome(ledger, at(0), first, &FAILED, &mut lowest());
    let Action::Attempt(retry) = session.on_wake(ledger, at(1)) else { panic!("the wait is over") };
    (session, retry)
}

#[test]
fn a_retry_that_was_dropped_on_the_wire_was_free() {
    let policy = policy();
    let mut ledger = PlainLedger::new(&policy);
    let (mut session, retry) = retry_launched(&policy, &mut ledger);
    let _ = session.cancel(&mut ledger, at(1));
    Session::abandon(&mut ledger, at(1), retry, &mut lowest());
    assert_eq!(tokens(&ledger), 90, "the server works on it, whoever waits for it");
}

#[test]
fn a_retry_that_was_never_made_lost_its_token() {
    let policy = policy();
    let mut ledger = PlainLedger::new(&policy);
    let (mut session, retry) = retry_launched(&policy, &mut ledger);
    let _ = session.cancel(&mut ledger, at(1));
    Session::withdraw(&mut ledger, at(1), retry, &mut lowest());
    assert_eq!(tokens(&ledger), 100);
}

// diegosouzapw/OmniRoute #13836, getnora-io/nora #585, afreidah/s3-orchestrator #424.
#[test]
fn a_probe_that_never_reported_kept_the_breaker_half_open_for_days() {
    let policy = policy();
    let half_open = at(30);
    let fresh = || {
        let mut ledger = PlainLedger::new(&policy);
        trip(&mut ledger, at(0));
        let (session, probe, _) = start(&policy, &mut ledger, half_open);
        (ledger, session, probe.expect("one probe"))
    };
    let state = |ledger: &PlainLedger| ledger.breaker().map(|b| b.state(half_open));
    let admits = |ledger: &mut PlainLedger, now| start(&policy, ledger, now).1.is_some();

    let (mut hung, _, _) = fresh();
    assert!(!admits(&mut hung, half_open));
    assert!(admits(&mut hung, at(60)), "its lease has ended");

    let (mut dropped, _, probe) = fresh();
    Session::abandon(&mut dropped, half_open, probe, &mut lowest());
    assert!(admits(&mut dropped, half_open), "free at once");

    let (mut missing, mut session, probe) = fresh();
    let _ = session.on_outcome(&mut missing, half_open, probe, &MISSING, &mut lowest());
    assert_eq!(state(&missing), Some(StateKind::Closed), "a 404 means that the server lives");

    let (mut broken, mut session, probe) = fresh();
    let _ = session.on_outcome(&mut broken, half_open, probe, &FAILED, &mut lowest());
    assert_eq!(state(&broken), Some(StateKind::Open), "as a body that ends early");
    assert!(admits(&mut broken, half_open + secs(60)));
}

// tsouza/cerberus PR 738, cockroachdb/cockroach PR 35433, ReliablyObserve/loki-vl-proxy PR 555.
#[test]
fn calls_that_their_callers_cancelled_opened_the_breaker() {
    let policy = policy();
    let mut ledger = PlainLedger::new(&policy);
    for n in 0..9 {
        let (mut session, launched, _) = start(&policy, &mut ledger, at(0));
        let launched = launched.expect("closed");
        if n % 2 == 0 {
            let cancelled = Outcome::new(Verdict::Cancelled);
            let _ = session.on_outcome(&mut ledger, at(0), launched, &cancelled, &mut lowest());
        } else {
            let _ = session.cancel(&mut ledger, at(0));
            Session::abandon(&mut ledger, at(0), launched, &mut lowest());
        }
    }
    assert_eq!(ledger.breaker().map(|b| b.consecutive_failures()), Some(0));
    assert_eq!(ledger.breaker().map(|b| b.counts(at(0)).calls), Some(0));
}

// resilience4j/resilience4j #920 and #1065.
#[test]
fn a_call_retried_against_an_open_breaker() {
    let policy = policy();
    let mut ledger = PlainLedger::new(&policy);
    trip(&mut ledger, at(0));
    let (_, _, act) = start(&policy, &mut ledger, at(0));
    let Action::Done(done) = act else { panic!("{act:?}") };
    assert_eq!((done.stop, done.attempts), (Stop::BreakerOpen, 0));
    assert_eq!((done.elapsed, done.pause), (Span::ZERO, Span::ZERO));
    assert_eq!(tokens(&ledger), 100);
}

#[test]
fn a_breaker_that_opened_during_the_wait_kept_the_token() {
    let policy = policy();
    let mut ledger = PlainLedger::new(&policy);
    let (mut session, launched, _) = start(&policy, &mut ledger, at(0));
    let failed = FAILED.with_hint(Hint::AtLeast(secs(7)));
    let launched = launched.expect("closed");
    let _ = session.on_outcome(&mut ledger, at(0), launched, &failed, &mut lowest());
    assert_eq!(tokens(&ledger), 90);
    trip(&mut ledger, at(1));
    let Action::Done(done) = session.on_wake(&mut ledger, at(7)) else { panic!("no network use") };
    assert_eq!((done.stop, done.attempts, tokens(&ledger)), (Stop::BreakerOpen, 1, 100));
    assert_eq!(done.hint, Some(secs(7)), "the hint outlives the refusal");
}

#[test]
fn a_call_that_waits_for_the_breaker_waited_past_its_deadline() {
    for (deadline, waits) in [(secs(31), true), (secs(30), false)] {
        let policy = policy().to_builder().wait_for_breaker(true).deadline(deadline);
        let policy = policy.build().expect("within bounds");
        let mut ledger = PlainLedger::new(&policy);
        trip(&mut ledger, at(0));
        let (mut session, _, act) = start(&policy, &mut ledger, at(0));
        if !waits {
            assert!(matches!(act, Action::Done(done) if done.stop == Stop::BreakerOpen));
            continue;
        }
        assert_eq!(act, Action::Wait(Wait::Until(at(30))));
        let Action::Attempt(probe) = session.on_wake(&mut ledger, at(30)) else {
            panic!("half-open")
        };
        assert_eq!((probe.attempt.number, probe.attempt.timeout), (1, Some(secs(1))));
    }
}

#[test]
fn a_retry_that_waited_for_the_breaker_paid_twice_or_lost_its_token() {
    let policy = policy().to_builder().wait_for_breaker(true).build().expect("within bounds");
    let mut ledger = PlainLedger::new(&policy);
    let (mut session, launched, _) = start(&policy, &mut ledger, at(0));
    let launched = launched.expect("closed");
    let _ = session.on_outcome(&mut ledger, at(0), launched, &FAILED, &mut lowest());
    trip(&mut ledger, at(0));
    assert_eq!(session.on_wake(&mut ledger, at(1)), Action::Wait(Wait::Until(at(30))));
    assert_eq!(tokens(&ledger), 90, "held along with the retry");
    let Action::Attempt(probe) = session.on_wake(&mut ledger, at(30)) else { panic!("half-open") };
    let _ = session.on_outcome(&mut ledger, at(30), probe, &Outcome::OK, &mut lowest());
    assert_eq!(tokens(&ledger), 100, "a success brings it back");
}

#[test]
fn calls_that_fail_for_ever_were_never_stopped() {
    let plans = [
        BudgetPlan::default(),
        TokenPlan::aws_2_0().into(),
        TokenPlan::aws_2_1().into(),
        BudgetPlan::None,
    ];
    for plan in plans {
        let policy = doubling().budget(plan).max_attempts(4).build().expect("within bounds");
        let mut ledger = PlainLedger::new(&policy);
        let mut retries = 0;
        for _ in 0..10_000 {
            let (mut session, act) =
                Session::start(&policy, &mut ledger, Call::idempotent(), at(0));
            let Action::Attempt(launched) = act else { panic!("no breaker") };
            let act = session.on_outcome(&mut ledger, at(0), launched, &FAILED, &mut highest());
            retries += u32::from(matches!(act, Action::Wait(_)));
        }
        // A tenth of the first attempts and the floor, or what the full bucket pays.
        assert!(retries <= 1_010, "{plan:?}: {retries}");
        assert!(ledger.ask(at(0), Charge::Retry).is_none(), "{plan:?}");
    }
}
