//! The promises of every ledger, one function a promise. Each takes a maker of ledgers; other crates check their
//! ledgers by the same file.

use std::task::Waker;

use stagger::breaker::{BreakerPlan, BreakerPlanBuilder, Report};
use stagger::budget::{BudgetPlan, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};
use stagger::concurrency::ConcurrencyPlan;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Action, Call, Launched, Ledger, Session, Wait};
use stagger::rate_limit::RatePlan;
use stagger::{
    Backoff, Hint, HintRule, HintScope, Instant, Outcome, Policy, PolicyBuilder, Rate, Ratio, Span,
    Stop, Verdict,
};
use stagger_testkit::{highest, lowest};

fn second(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(n)
}

fn policy(builder: PolicyBuilder) -> Policy {
    builder.build().expect("in bounds")
}

fn budget(plan: impl Into<BudgetPlan>) -> Policy {
    policy(Policy::builder().budget(plan))
}

fn breaker(plan: BreakerPlanBuilder) -> Policy {
    policy(Policy::builder().breaker(plan.build().expect("in bounds")))
}

/// Opens for 5 s once two calls failed.
fn two_failures() -> BreakerPlanBuilder {
    BreakerPlan::builder().minimum_calls(2)
}

/// Every kind that limits, and the retries in a row that it grants before anything happened.
fn limits() -> Vec<(BudgetPlan, usize)> {
    let throttle = ThrottlePlan::new(10, Ratio::from_percent(10)).expect("in bounds");
    let interval = IntervalPlan::new(3, Span::from_secs(30)).expect("in bounds");
    let window = WindowPlan::default().with_floor(FloorRate::Add(Rate::per_second(1)));
    vec![
        (BudgetPlan::None, 0),
        (window.into(), 10),
        (TokenPlan::aws_2_0().into(), 100),
        (TokenPlan::aws_2_1().into(), 35),
        (throttle.into(), 5),
        (interval.into(), 3),
    ]
}

fn ask_all(ledger: &mut impl Ledger, now: Instant) -> Vec<Paid> {
    (0..1_000).map_while(|_| ledger.ask(now, Charge::Retry)).collect()
}

fn admit(ledger: &mut impl Ledger, now: Instant) -> Ticket {
    ledger.admit(now).ticket().expect("admitted")
}

fn fail(ledger: &mut impl Ledger, now: Instant, times: usize) {
    for _ in 0..times {
        let ticket = admit(ledger, now);
        ledger.report(now, ticket, Report::Failure, &mut lowest());
    }
}

fn until(ledger: &mut impl Ledger, now: Instant) -> Instant {
    match ledger.admit(now) {
        Admission::Refused { until } => until,
        Admission::Admitted(_) => panic!("admitted at {now:?}"),
    }
}

pub(crate) fn callers_that_fail_for_ever_are_stopped_by_every_kind_of_budget<L: Ledger>(
    make: impl Fn(&Policy) -> L,
) {
    for (plan, most) in limits() {
        let backoff = Backoff::constant(Span::from_nanos(1));
        let policy =
            policy(Policy::builder().budget(plan).backoff(backoff).max_attempts(1_000_000));
        let mut ledger = make(&policy);
        let mut retries = 0;
        for _ in 0..10 {
            retries += fails_for_ever(&policy, &mut ledger);
        }
        // Ten first attempts earn the window one retry; a failure costs the throttle one.
        assert!(retries <= most + 1, "{plan:?}: {retries}");
    }
}

/// The retries of one call whose every attempt fails, until the budget ends it.
fn fails_for_ever(policy: &Policy, ledger: &mut impl Ledger) -> usize {
    let now = second(1);
    let failed = Outcome::new(Verdict::Transient);
    let (mut session, mut act) = Session::start(policy, ledger, Call::idempotent(), now);
    let mut retries = 0;
    loop {
        act = match act {
            Action::Attempt(launched) => {
                retries += usize::from(launched.attempt.number > 1);
                session.on_outcome(ledger, now, launched, &failed, &mut lowest())
            }
            Action::Wait(_) => session.on_wake(ledger, now + Span::from_nanos(1)),
            Action::Done(done) => {
                assert_eq!(done.stop, Stop::BudgetEmpty);
                return retries;
            }
            Action::Hedge(_) => panic!("not asked for"),
        };
    }
}

pub(crate) fn a_grant_given_back_can_be_granted_again<L: Ledger>(make: impl Fn(&Policy) -> L) {
    for (plan, most) in limits() {
        if matches!(plan, BudgetPlan::Throttle(_)) {
            continue; // grants are free there
        }
        let mut ledger = make(&budget(plan));
        let grants = ask_all(&mut ledger, second(1));
        assert_eq!(grants.len(), most, "{plan:?}");
        grants.iter().for_each(|paid| ledger.refund(second(2), *paid));
        assert_eq!(ask_all(&mut ledger, second(2)).len(), most, "{plan:?}");
    }
}

pub(crate) fn a_grant_that_is_as_old_as_the_window_cannot_be_given_back<L: Ledger>(
    make: impl Fn(&Policy) -> L,
) {
    let plan = WindowPlan::default().with_floor(FloorRate::Add(Rate::per_second(1)));
    let mut ledger = make(&budget(plan));
    let old = ledger.ask(second(1), Charge::Retry).expect("the floor");
    assert_eq!(ask_all(&mut ledger, second(11)).len(), 10, "the old one has left");
    ledger.refund(second(11), old);
    assert_eq!(ledger.ask(second(11), Charge::Retry), None);
}

pub(crate) fn an_ask_that_is_refused_takes_nothing<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let plan = TokenPlan::new(10, 3).and_then(|plan| plan.with_timeout(8)).expect("in bounds");
    let mut ledger = make(&budget(plan));
    assert!(ledger.ask(second(0), Charge::Retry).is_some());
    assert_eq!(ledger.ask(second(0), Charge::Timeout), None, "8 of 7");
    assert_eq!(ask_all(&mut ledger, second(0)).len(), 2, "7 are still there");
    ledger.on_settled(second(0), Settled::FirstTry);
    assert_eq!(ledger.ask(second(0), Charge::Retry), None, "2 are left");
}

pub(crate) fn an_idle_window_forgets_what_it_earned<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let plan = WindowPlan::new(Ratio::from_percent(10)).expect("in bounds");
    let mut ledger = make(&budget(plan));
    (0..1_000).for_each(|_| ledger.on_first(second(1)));
    assert_eq!(ask_all(&mut ledger, second(10)).len(), 102);
    assert_eq!(ask_all(&mut ledger, second(1_000_000)).len(), 2);
}

pub(crate) fn a_call_refused_by_its_breaker_gives_its_grant_back<L: Ledger>(
    make: impl Fn(&Policy) -> L,
) {
    let breaker = two_failures().build().expect("in bounds");
    let interval = IntervalPlan::new(1, Span::from_secs(30)).expect("in bounds");
    let policy = policy(Policy::builder().budget(interval).breaker(breaker));
    let mut ledger = make(&policy);
    let (mut session, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(0));
    let Action::Attempt(first) = act else { panic!("{act:?}") };
    let failed = Outcome::new(Verdict::Transient);
    let act = session.on_outcome(&mut ledger, second(0), first, &failed, &mut lowest());
    assert!(matches!(act, Action::Wait(_)), "{act:?}");
    assert_eq!(ledger.ask(second(0), Charge::Retry), None, "the call holds it");
    // While it waits, somebody else's failure opens the breaker.
    fail(&mut ledger, second(0), 1);
    let act = session.on_wake(&mut ledger, second(1));
    assert!(matches!(act, Action::Done(done) if done.stop == Stop::BreakerOpen), "{act:?}");
    assert!(ledger.ask(second(1), Charge::Retry).is_some());
}

pub(crate) fn a_dropped_call_gives_its_grant_back<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let interval = IntervalPlan::new(1, Span::from_secs(30)).expect("in bounds");
    let policy = policy(Policy::builder().budget(interval));
    let mut ledger = make(&policy);
    let (mut session, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(0));
    let Action::Attempt(first) = act else { panic!("{act:?}") };
    let failed = Outcome::new(Verdict::Transient);
    let _wait = session.on_outcome(&mut ledger, second(0), first, &failed, &mut lowest());
    assert_eq!(ledger.ask(second(0), Charge::Retry), None, "the call holds it");
    let _done = session.cancel(&mut ledger, second(0));
    assert!(ledger.ask(second(0), Charge::Retry).is_some());
}

pub(crate) fn half_open_admits_the_probes_and_nobody_else<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = make(&breaker(two_failures().probes(3)));
    fail(&mut ledger, second(0), 2);
    assert_eq!(until(&mut ledger, second(4)), second(5));
    let probes = [0; 3].map(|_| admit(&mut ledger, second(5)));
    assert!(probes.iter().all(|probe| probe.is_probe()));
    let _lease = until(&mut ledger, second(5));
    for probe in probes {
        ledger.report(second(5), probe, Report::Success, &mut lowest());
    }
    assert!(!admit(&mut ledger, second(5)).is_probe(), "closed");
    fail(&mut ledger, second(5), 1);
    assert!(!admit(&mut ledger, second(5)).is_probe(), "with empty counters");
}

pub(crate) fn a_probe_that_says_nothing_frees_its_place<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = make(&breaker(two_failures()));
    fail(&mut ledger, second(0), 2);
    let probe = admit(&mut ledger, second(5));
    let _lease = until(&mut ledger, second(5));
    ledger.report(second(5), probe, Report::Neutral, &mut lowest());
    assert!(admit(&mut ledger, second(5)).is_probe());
}

pub(crate) fn a_probe_that_hangs_loses_its_place<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = make(&breaker(two_failures().lease(Span::from_secs(3))));
    fail(&mut ledger, second(0), 2);
    let hung = admit(&mut ledger, second(5));
    assert_eq!(until(&mut ledger, second(7)), second(8));
    let next = admit(&mut ledger, second(8));
    ledger.report(second(8), hung, Report::Failure, &mut lowest());
    ledger.report(second(8), next, Report::Success, &mut lowest());
    assert!(!admit(&mut ledger, second(8)).is_probe(), "closed");
}

pub(crate) fn a_result_from_before_a_move_changes_nothing<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = make(&breaker(two_failures()));
    let stale = [0; 3].map(|_| admit(&mut ledger, second(0)));
    fail(&mut ledger, second(0), 2);
    ledger.report(second(1), stale[0], Report::Success, &mut lowest());
    assert_eq!(until(&mut ledger, second(1)), second(5));
    let probe = admit(&mut ledger, second(5));
    ledger.report(second(5), stale[1], Report::Failure, &mut lowest());
    ledger.report(second(5), probe, Report::Success, &mut lowest());
    ledger.report(second(5), stale[2], Report::Failure, &mut lowest());
    fail(&mut ledger, second(5), 1);
    assert!(!admit(&mut ledger, second(5)).is_probe(), "one failure is below two calls");
}

pub(crate) fn a_bad_probe_doubles_the_open_time<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = make(&breaker(two_failures()));
    fail(&mut ledger, second(0), 2);
    fail(&mut ledger, second(5), 1);
    assert_eq!(until(&mut ledger, second(5)), second(15));
    let probe = admit(&mut ledger, second(15));
    ledger.report(second(15), probe, Report::Failure, &mut highest());
    assert_eq!(until(&mut ledger, second(15)), second(15 + 30), "20 s, and half of it as spread");
}

pub(crate) fn throttling_opens_only_where_it_was_asked_to<L: Ledger>(make: impl Fn(&Policy) -> L) {
    for asked in [false, true] {
        let mut ledger = make(&breaker(two_failures().throttled_fails(asked)));
        for _ in 0..2 {
            let ticket = admit(&mut ledger, second(0));
            ledger.report(second(0), ticket, Report::Throttled, &mut lowest());
        }
        assert_eq!(ledger.admit(second(0)).ticket().is_none(), asked);
    }
}

pub(crate) fn a_success_may_be_the_call_that_opens<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = make(&breaker(BreakerPlan::builder().minimum_calls(3)));
    fail(&mut ledger, second(0), 2);
    let ticket = admit(&mut ledger, second(0));
    ledger.report(second(0), ticket, Report::Success, &mut lowest());
    assert_eq!(until(&mut ledger, second(0)), second(5));
}

fn ramping<L: Ledger>(make: impl Fn(&Policy) -> L) -> L {
    let plan = two_failures().ramp(Ratio::from_percent(10), Span::from_secs(10));
    let mut ledger = make(&breaker(plan));
    fail(&mut ledger, second(0), 2);
    let probe = admit(&mut ledger, second(5));
    ledger.report(second(5), probe, Report::Success, &mut lowest());
    ledger
}

pub(crate) fn a_ramp_admits_a_growing_share<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = ramping(make);
    let mut share = |now| (0..100).filter(|_| ledger.admit(second(now)).ticket().is_some()).count();
    // The first goes at once, and then every tenth.
    assert_eq!([5, 10, 15].map(&mut share), [1 + 10, 55, 100]);
}

pub(crate) fn failures_during_a_ramp_open_it_for_longer<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = ramping(make);
    for _ in 0..2 {
        let ticket = (0..100).find_map(|_| ledger.admit(second(6)).ticket()).expect("a tenth");
        ledger.report(second(6), ticket, Report::Failure, &mut lowest());
    }
    assert_eq!(until(&mut ledger, second(6)), second(16));
}

pub(crate) fn without_a_breaker_every_call_is_admitted<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let mut ledger = make(&policy(Policy::builder()));
    for _ in 0..100 {
        let ticket = admit(&mut ledger, second(1));
        ledger.report(second(1), ticket, Report::Failure, &mut lowest());
    }
}

/// One call of a policy with this scope is told to stay away for 2 s; the ledger after that.
fn after_a_hint<L: Ledger>(make: impl Fn(&Policy) -> L, scope: HintScope) -> (Policy, L) {
    let hints = HintRule::default().with_scope(scope);
    let policy = policy(Policy::builder().hints(hints));
    let mut ledger = make(&policy);
    let (mut session, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(1));
    let Action::Attempt(first) = act else { panic!("{act:?}") };
    let hint = Hint::AtLeast(Span::from_secs(2));
    let busy = Outcome::new(Verdict::Throttled).with_hint(hint);
    let act = session.on_outcome(&mut ledger, second(1), first, &busy, &mut lowest());
    assert!(matches!(act, Action::Wait(_)), "{act:?}");
    (policy, ledger)
}

pub(crate) fn a_hint_for_the_destination_holds_the_calls_of_others<L: Ledger>(
    make: impl Fn(&Policy) -> L,
) {
    let (policy, mut ledger) = after_a_hint(make, HintScope::Destination);
    let mut start = |now| Session::start(&policy, &mut ledger, Call::idempotent(), now).1;
    let mut held = || match start(second(2)) {
        Action::Wait(Wait::Until(until)) => until,
        act => panic!("not held: {act:?}"),
    };
    let mut starts: Vec<Instant> = (0..10).map(|_| held()).collect();
    // The hint ends at 3 s; the default spread adds up to half of it.
    assert!(starts.iter().all(|start| (second(3)..=second(4)).contains(start)), "{starts:?}");
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), 10, "no two calls start together");
    assert!(matches!(start(second(3)), Action::Attempt(_)), "the pause is over");
}

pub(crate) fn a_hint_for_one_call_holds_no_other<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let (policy, mut ledger) = after_a_hint(make, HintScope::Call);
    let (_, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(2));
    assert!(matches!(act, Action::Attempt(_)), "{act:?}");
}

fn stop(act: &Action) -> Option<Stop> {
    if let Action::Done(done) = act { Some(done.stop) } else { None }
}

/// A ledger with one place, which an attempt holds, and a queue of one.
fn with_one_place<L: Ledger>(make: impl Fn(&Policy) -> L) -> (Policy, L, Launched) {
    let plan = ConcurrencyPlan::new(1).and_then(|plan| plan.with_queue(1, Span::from_secs(2)));
    let policy = policy(Policy::builder().concurrency_limit(plan.expect("in bounds")));
    let mut ledger = make(&policy);
    let (_, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(1));
    let Action::Attempt(first) = act else { panic!("the place is free: {act:?}") };
    (policy, ledger, first)
}

pub(crate) fn a_place_that_becomes_free_is_handed_to_the_call_that_waits<L: Ledger>(
    make: impl Fn(&Policy) -> L,
) {
    let (policy, mut ledger, first) = with_one_place(make);
    let (mut waits, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(1));
    assert_eq!(act, Action::Wait(Wait::Until(second(3))));
    assert!(!ledger.watch(waits.limit_permit(), Waker::noop()), "the place is taken");
    let (_, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(1));
    assert_eq!(stop(&act), Some(Stop::ConcurrencyLimited), "places and queue are taken");
    Session::abandon(&mut ledger, second(2), first, &mut lowest());
    assert!(ledger.watch(waits.limit_permit(), Waker::noop()), "the place is its own");
    let (_, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(2));
    assert!(matches!(act, Action::Wait(_)), "no newcomer overtakes: {act:?}");
    assert!(matches!(waits.on_wake(&mut ledger, second(2)), Action::Attempt(_)));
}

pub(crate) fn a_call_that_leaves_the_queue_leaves_nothing_behind<L: Ledger>(
    make: impl Fn(&Policy) -> L,
) {
    let (policy, mut ledger, first) = with_one_place(make);
    for _ in 0..3 {
        let start = Session::start(&policy, &mut ledger, Call::idempotent(), second(1));
        let (mut waits, Action::Wait(_)) = start else { panic!("one may wait: {start:?}") };
        assert_eq!(stop(&waits.cancel(&mut ledger, second(1))), Some(Stop::Cancelled));
    }
    let (mut late, _) = Session::start(&policy, &mut ledger, Call::idempotent(), second(1));
    let act = late.on_wake(&mut ledger, second(3));
    assert_eq!(stop(&act), Some(Stop::ConcurrencyLimited), "its wait is over");
    Session::withdraw(&mut ledger, second(3), first, &mut lowest());
    let (_, act) = Session::start(&policy, &mut ledger, Call::idempotent(), second(3));
    assert!(matches!(act, Action::Attempt(_)), "the place is free: {act:?}");
}

pub(crate) fn attempts_start_no_faster_than_the_rate<L: Ledger>(make: impl Fn(&Policy) -> L) {
    let plan = RatePlan::new(Rate::per_second(1), 2).expect("in bounds");
    let policy = policy(Policy::builder().rate_limit(plan.with_max_wait(Span::from_secs(1))));
    let mut ledger = make(&policy);
    let mut start = |at| Session::start(&policy, &mut ledger, Call::idempotent(), second(at)).1;
    assert!(matches!(start(9), Action::Attempt(_)));
    assert!(matches!(start(9), Action::Attempt(_)), "a burst of two");
    assert_eq!(start(9), Action::Wait(Wait::Until(second(10))));
    assert_eq!(stop(&start(9)), Some(Stop::RateLimited), "its start would be in two seconds");
    assert_eq!(start(10), Action::Wait(Wait::Until(second(11))), "a refusal takes nothing");
    assert!(matches!(start(13), Action::Attempt(_)));
}
