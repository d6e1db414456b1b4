//! No order of threads lets a probe too many through, loses a result, or leaves a breaker stuck.

use loom::sync::Arc;
use loom::thread;
use stagger_core::breaker::{BreakerPlan, BreakerPlanBuilder, Counts, Report, StateKind, Ticket};
use stagger_core::{Instant, Ratio, Span};

use crate::breaker::LocalBreaker;
use crate::result_window::ResultWindow;
use crate::sync::take_stripe;

const PREEMPTIONS: usize = 3;

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(check);
}

fn second(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(n)
}

/// Opens for five seconds when half of at least two calls failed.
fn plan() -> BreakerPlanBuilder {
    BreakerPlan::builder().minimum_calls(2)
}

fn breaker(plan: BreakerPlanBuilder) -> LocalBreaker {
    LocalBreaker::new(plan.build().expect("in bounds"))
}

fn admitted(breaker: &LocalBreaker, now: Instant) -> Option<Ticket> {
    breaker.admit(now).ticket()
}

fn report(breaker: &LocalBreaker, now: Instant, ticket: Ticket, report: Report) {
    breaker.report(now, ticket, report, &mut || 0);
}

/// Open from second 0 to second 5, with one ticket from before.
fn opened(plan: BreakerPlanBuilder) -> (LocalBreaker, Ticket) {
    let breaker = breaker(plan);
    let tickets = [0; 3].map(|_| admitted(&breaker, second(0)).expect("closed"));
    report(&breaker, second(0), tickets[0], Report::Failure);
    report(&breaker, second(0), tickets[1], Report::Failure);
    assert_eq!(breaker.state(second(0)), StateKind::Open);
    (breaker, tickets[2])
}

#[test]
fn two_results_that_break_the_rule_together_open_it_once() {
    model(|| {
        let breaker = Arc::new(breaker(plan()));
        let tickets = [0; 2].map(|_| admitted(&breaker, second(0)).expect("closed"));
        let other = Arc::clone(&breaker);
        let theirs = thread::spawn(move || report(&other, second(0), tickets[0], Report::Failure));
        report(&breaker, second(0), tickets[1], Report::Failure);
        theirs.join().expect("no panic");
        assert_eq!(breaker.state(second(0)), StateKind::Open);
        assert_eq!(breaker.opened(), 1);
    });
}

#[test]
fn failures_in_a_row_open_it_whoever_reports_them() {
    model(|| {
        let breaker = Arc::new(breaker(plan().ratio(None).consecutive(2)));
        let tickets = [0; 2].map(|_| admitted(&breaker, second(0)).expect("closed"));
        let other = Arc::clone(&breaker);
        let theirs = thread::spawn(move || report(&other, second(0), tickets[0], Report::Failure));
        report(&breaker, second(0), tickets[1], Report::Failure);
        theirs.join().expect("no panic");
        assert_eq!(breaker.state(second(0)), StateKind::Open);
    });
}

#[test]
fn a_result_is_not_lost_to_a_turn_of_the_window() {
    model(|| {
        let breaker = Arc::new(breaker(plan().minimum_calls(3)));
        let tickets = [0; 3].map(|_| admitted(&breaker, second(0)).expect("closed"));
        let other = Arc::clone(&breaker);
        let turning = thread::spawn(move || report(&other, second(1), tickets[0], Report::Failure));
        report(&breaker, second(0), tickets[1], Report::Failure);
        turning.join().expect("no panic");
        assert_eq!(breaker.state(second(1)), StateKind::Closed);
        report(&breaker, second(1), tickets[2], Report::Failure);
        assert_eq!(breaker.state(second(1)), StateKind::Open);
    });
}

#[test]
fn a_half_open_breaker_admits_exactly_its_probes() {
    for probes in 1..=2 {
        model(move || {
            let (breaker, _) = opened(plan().probes(probes));
            let breaker = Arc::new(breaker);
            let asking = [0; 2].map(|_| {
                let breaker = Arc::clone(&breaker);
                thread::spawn(move || u32::from(admitted(&breaker, second(5)).is_some()))
            });
            let mine = u32::from(admitted(&breaker, second(5)).is_some());
            let theirs: u32 = asking.into_iter().map(|t| t.join().expect("no panic")).sum();
            assert_eq!(mine + theirs, probes);
        });
    }
}

#[test]
fn a_dropped_probe_frees_its_place_and_a_hung_one_lapses() {
    model(|| {
        let (breaker, _) = opened(plan());
        let breaker = Arc::new(breaker);
        let probe = admitted(&breaker, second(5)).expect("half-open");
        let other = Arc::clone(&breaker);
        let dropping = thread::spawn(move || report(&other, second(6), probe, Report::Neutral));
        let early = admitted(&breaker, second(6));
        dropping.join().expect("no panic");
        // Either the place was free in time, or it is now.
        let next = early.or_else(|| admitted(&breaker, second(6))).expect("a free place");
        assert!(admitted(&breaker, second(6)).is_none());
        // That one hangs: after its lease, the place is another's.
        let last = admitted(&breaker, second(11)).expect("the lease is over");
        report(&breaker, second(11), next, Report::Failure);
        report(&breaker, second(11), last, Report::Success);
        assert_eq!(breaker.state(second(11)), StateKind::Closed);
    });
}

#[test]
fn a_result_from_before_it_opened_counts_for_nothing_after_it_closed() {
    model(|| {
        let (breaker, stale) = opened(plan());
        let breaker = Arc::new(breaker);
        let probe = admitted(&breaker, second(5)).expect("half-open");
        let other = Arc::clone(&breaker);
        let late = thread::spawn(move || report(&other, second(5), stale, Report::Failure));
        report(&breaker, second(5), probe, Report::Success);
        let fresh = admitted(&breaker, second(5)).expect("closed");
        report(&breaker, second(5), fresh, Report::Failure);
        late.join().expect("no panic");
        assert_eq!(breaker.state(second(5)), StateKind::Closed, "one failure is below two calls");
    });
}

#[test]
fn closing_and_reporting_at_once_starts_with_empty_counters() {
    model(|| {
        let (breaker, _) = opened(plan().ramp(Ratio::ONE, Span::from_secs(3)));
        let breaker = Arc::new(breaker);
        let probe = admitted(&breaker, second(5)).expect("half-open");
        let other = Arc::clone(&breaker);
        let closing = thread::spawn(move || report(&other, second(5), probe, Report::Success));
        let mine = admitted(&breaker, second(5));
        if let Some(ticket) = mine {
            report(&breaker, second(8), ticket, Report::Failure);
        }
        closing.join().expect("no panic");
        assert!(admitted(&breaker, second(8)).is_some());
        assert_eq!(breaker.state(second(8)), StateKind::Closed);
    });
}

#[test]
fn a_success_in_a_stripe_is_counted_once_on_either_side_of_a_turn() {
    model(|| {
        take_stripe(0);
        let breaker = Arc::new(breaker(plan().minimum_calls(4)));
        let tickets = [0; 4].map(|_| admitted(&breaker, second(0)).expect("closed"));
        report(&breaker, second(0), tickets[0], Report::Success);
        let other = Arc::clone(&breaker);
        let turning = thread::spawn(move || {
            take_stripe(1);
            report(&other, second(1), tickets[1], Report::Success);
        });
        report(&breaker, second(0), tickets[2], Report::Failure);
        turning.join().expect("no panic");
        assert_eq!(breaker.state(second(1)), StateKind::Closed);
        // Half of four: were one of them lost or counted twice, it would stay closed.
        report(&breaker, second(1), tickets[3], Report::Failure);
        assert_eq!(breaker.state(second(1)), StateKind::Open);
    });
}

#[test]
fn a_failure_and_a_success_of_one_instant_are_judged_by_the_next_result_at_the_latest() {
    model(|| {
        let breaker = Arc::new(breaker(plan()));
        let tickets = [0; 3].map(|_| admitted(&breaker, second(0)).expect("closed"));
        let other = Arc::clone(&breaker);
        let succeeding = thread::spawn(move || {
            take_stripe(0);
            report(&other, second(0), tickets[0], Report::Success);
        });
        report(&breaker, second(0), tickets[1], Report::Failure);
        succeeding.join().expect("no panic");
        report(&breaker, second(0), tickets[2], Report::Failure);
        assert_eq!(breaker.state(second(0)), StateKind::Open);
    });
}

#[test]
fn a_success_in_a_stripe_from_before_it_opened_counts_for_nothing_after_it_closed() {
    model(|| {
        let (breaker, stale) = opened(plan());
        let breaker = Arc::new(breaker);
        let probe = admitted(&breaker, second(5)).expect("half-open");
        let other = Arc::clone(&breaker);
        let late = thread::spawn(move || {
            take_stripe(0);
            report(&other, second(5), stale, Report::Success);
        });
        report(&breaker, second(5), probe, Report::Success);
        let fresh = admitted(&breaker, second(5)).expect("closed");
        report(&breaker, second(5), fresh, Report::Failure);
        late.join().expect("no panic");
        assert_eq!(breaker.state(second(5)), StateKind::Closed, "one failure is below two calls");
    });
}

#[test]
fn a_success_in_a_stripe_is_forgotten_with_the_rest_when_it_closes_again() {
    model(|| {
        take_stripe(0);
        let breaker = breaker(plan());
        let tickets = [0; 2].map(|_| admitted(&breaker, second(0)).expect("closed"));
        report(&breaker, second(0), tickets[0], Report::Success);
        report(&breaker, second(0), tickets[1], Report::Failure);
        let probe = admitted(&breaker, second(5)).expect("half-open");
        report(&breaker, second(5), probe, Report::Success);
        let fresh = admitted(&breaker, second(5)).expect("closed");
        report(&breaker, second(5), fresh, Report::Failure);
        assert_eq!(breaker.state(second(5)), StateKind::Closed, "one failure is below two calls");
    });
}

#[test]
fn a_call_that_was_overtaken_by_a_turn_is_not_counted_where_it_no_longer_belongs() {
    model(|| {
        let window = ResultWindow::new(Span::from_secs(10));
        let late = window.turn();
        window.turn_to(second(1));
        assert_eq!(window.record(second(1), late, true), None);
        let sums = window.record(second(1), window.turn(), true).expect("the running slot");
        assert_eq!(sums, Counts { calls: 1, failures: 1, slow: 0 });
    });
}
