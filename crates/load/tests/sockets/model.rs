//! Counts of runs against the scenario's own server are those of the lab, wherever time decides nothing.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::{Ratio, Span};
use stagger_load::{LoadComparison, LoadRow, RunEnd};
use stagger_sim::{ArrivalProcess, Bystanders, CallerLayer, Fleet, Trouble};

use crate::fixture::{at, block_on, herd, model, run_both, soon, with_trouble};

/// Attempts, retries, calls and successes of both runs.
fn counts(row: &LoadRow) -> [[u64; 4]; 2] {
    let (measured, served) = block_on(run_both(row));
    assert_eq!(measured.end, RunEnd::Complete, "{measured:?}");
    assert_eq!(served.attempts, measured.played.attempts.total, "{served:?}");
    let of = |played: &stagger_sim::Played| {
        [played.attempts.total, played.retries.total, played.calls, played.succeeded]
    };
    [of(&measured.played), of(&model(row).played)]
}

#[test]
fn calls_to_a_server_that_is_down_made_another_number_of_attempts() {
    let row = with_trouble(herd(20, soon(3)), Trouble::Refuse);
    let [measured, model] = counts(&row);
    assert_eq!((measured, model), ([60, 40, 20, 0], [60, 40, 20, 0]));
}

#[test]
fn a_server_that_is_up_was_asked_twice() {
    let [measured, model] = counts(&herd(30, soon(5)));
    assert_eq!((measured, model), ([30, 0, 30, 30], [30, 0, 30, 30]));
}

#[test]
fn the_share_of_failures_was_drawn_by_the_server_and_not_by_the_attempt() {
    let row = with_trouble(herd(60, soon(2)), Trouble::Failing(Ratio::from_percent(50)));
    let [measured, model] = counts(&row);
    assert_eq!(measured, model, "each attempt of each call fails as it does in the lab");
    assert!((5..55).contains(&model[1]), "some fail and some do not: {model:?}");
}

#[test]
fn an_attempt_that_was_never_answered_outlived_its_timeout() {
    let mut row = with_trouble(herd(10, soon(2)), Trouble::Silence);
    // Long enough for the server to see each attempt on a busy machine.
    row.plan.callers[0] = row.plan.callers[0].clone().with_timeout(Span::from_millis(800));
    let (measured, served) = block_on(run_both(&row));
    assert_eq!((measured.played.attempts.total, measured.answers.unanswered), (20, 20));
    assert_eq!((measured.unfinished, served.abandoned), (0, 20));
}

#[test]
fn an_empty_budget_allowed_a_retry_over_sockets() {
    let policy = soon(5).to_builder().budget(BudgetPlan::None).build().unwrap();
    let [measured, model] = counts(&with_trouble(herd(20, policy), Trouble::Refuse));
    assert_eq!((measured, model), ([20, 0, 20, 0], [20, 0, 20, 0]));
}

#[test]
fn every_call_had_a_breaker_of_its_own() {
    let breaker = BreakerPlan::builder().consecutive(3).build().unwrap();
    let policy = soon(1).to_builder().breaker(breaker).build().unwrap();
    let mut row = with_trouble(herd(0, policy), Trouble::Refuse);
    row.plan.arrivals = vec![ArrivalProcess::Even { callers: 40, spacing: Span::from_millis(30) }];
    let shared = block_on(run_both(&row)).0.played;
    assert_eq!(shared.calls, 40);
    assert!(shared.attempts.total < 40, "an open breaker refuses calls: {shared:?}");
    // A process for every call: no breaker ever sees three failures.
    row.plan.fleet = Fleet { processes: 40, ..Fleet::default() };
    assert_eq!(block_on(run_both(&row)).0.played.attempts.total, 40);
}

#[test]
fn a_refused_connection_was_an_answer() {
    let row = with_trouble(herd(5, soon(2)), Trouble::PortClosed);
    let (measured, _) = block_on(run_both(&row));
    assert_eq!((measured.answers.errors, measured.answers.statuses.len()), (10, 0));
}

#[test]
fn a_shed_call_was_retried() {
    let row = with_trouble(herd(5, soon(4)), Trouble::Forbid(Ratio::ONE));
    let (measured, _) = block_on(run_both(&row));
    assert_eq!(measured.answers.statuses.into_iter().collect::<Vec<_>>(), [(403, 5)]);
}

#[test]
fn a_hint_of_the_server_was_not_heard() {
    // The hint is longer than the callers follow, so that they stop after the first attempt.
    let row = with_trouble(herd(4, soon(6)), Trouble::RefuseFor(Span::from_secs(3_600)));
    let [measured, model] = counts(&row);
    assert_eq!((measured, model), ([4, 0, 4, 0], [4, 0, 4, 0]));
}

#[test]
fn a_slow_call_had_no_second_copy() {
    let hedge = HedgePlan::fixed(Span::from_millis(20), 2).unwrap();
    let policy = soon(2).to_builder().hedge(hedge).build().unwrap();
    let mut row = with_trouble(herd(4, policy), Trouble::Silence);
    row.plan.callers[0] = row.plan.callers[0].clone().with_timeout(Span::from_millis(200));
    let (measured, _) = block_on(run_both(&row));
    assert_eq!((measured.played.attempts.total, measured.played.retries.total), (8, 4));
}

#[test]
fn a_closed_client_called_once_and_a_bystander_was_a_caller() {
    let mut row = herd(0, soon(1));
    let think = Span::from_millis(10);
    row.plan.arrivals = vec![ArrivalProcess::Closed { clients: 3, think, until: at(1_500) }];
    row.plan.bystanders = vec![Bystanders {
        arrivals: ArrivalProcess::Together { callers: 7 },
        caller: CallerLayer::new(soon(1)),
    }];
    let (measured, _) = block_on(run_both(&row));
    let played = &measured.played;
    assert_eq!((played.bystanding, played.attempts.total - 7), (7, played.calls));
    assert!(played.calls > 3, "each client thinks 10 ms between its calls: {played:?}");
    let compared = LoadComparison::of(&model(&row), &measured);
    assert_eq!(compared.measured.attempts, played.calls, "attempts are the callers' own");
}
