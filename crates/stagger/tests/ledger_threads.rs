//! Many threads at one ledger: the totals are exact, however they interleave.

use std::sync::{Arc, Barrier};
use std::thread;

use stagger::breaker::{BreakerPlan, Report, StateKind};
use stagger::budget::{BudgetPlan, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};
use stagger::engine::Ledger;
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::{Instant, LocalLedger, Policy, Rate, Ratio, Span};

const THREADS: [usize; 3] = [2, 4, 8];

fn second(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(n)
}

fn ledger(budget: impl Into<BudgetPlan>) -> Arc<LocalLedger> {
    let policy = Policy::builder().budget(budget).breaker(BreakerPlan::default());
    Arc::new(LocalLedger::new(&policy.build().expect("in bounds")))
}

/// The sum of what each of the threads, started together, answers.
fn together(
    threads: usize,
    ledger: &Arc<LocalLedger>,
    work: impl Fn(usize, &LocalLedger) -> usize + Send + Sync + 'static,
) -> usize {
    let (work, gate) = (Arc::new(work), Arc::new(Barrier::new(threads)));
    let running: Vec<_> = (0..threads)
        .map(|number| {
            let (ledger, work, gate) = (Arc::clone(ledger), Arc::clone(&work), Arc::clone(&gate));
            thread::spawn(move || {
                gate.wait();
                work(number, &ledger)
            })
        })
        .collect();
    running.into_iter().map(|thread| thread.join().expect("no panic")).sum()
}

fn granted(mut ledger: &LocalLedger, now: Instant, times: usize) -> usize {
    (0..times).filter(|_| ledger.ask(now, Charge::Retry).is_some()).count()
}

#[test]
fn a_window_grants_its_share_to_all_threads_together() {
    for threads in THREADS {
        let plan = WindowPlan::new(Ratio::from_percent(10)).expect("in bounds");
        let ledger = ledger(plan);
        together(threads, &ledger, |_, mut ledger| {
            (0..10_000).for_each(|_| ledger.on_first(second(1)));
            0
        });
        let retries = together(threads, &ledger, |_, ledger| granted(ledger, second(1), 5_000));
        assert_eq!(retries, threads * 1_000 + 2);
        let stats = ledger.stats(second(1));
        assert_eq!((stats.level.retries, stats.level.capacity), (0, retries as u64));
        assert_eq!(stats.grants + stats.refusals, (threads * 5_000) as u64);
    }
}

#[test]
fn a_window_that_turns_all_the_time_never_grants_more_than_its_share() {
    for threads in THREADS {
        let plan = WindowPlan::new(Ratio::from_percent(10))
            .map(|plan| plan.with_floor(FloorRate::Add(Rate::ZERO)))
            .expect("in bounds");
        let ledger = ledger(plan);
        // Every thread has its own time, some seconds ahead of or behind the others.
        let retries = together(threads, &ledger, |number, mut ledger| {
            let mut granted = 0;
            for step in 0..20_000_u64 {
                let now = Instant::from_nanos(step * 10_000_000 + number as u64 * 1_000_000);
                ledger.on_first(now);
                granted += usize::from(ledger.ask(now, Charge::Retry).is_some());
            }
            granted
        });
        // A retry leaves the window no earlier than the first attempts that paid for it, so none of
        // them pays twice: over all times together, it is a tenth.
        assert!(retries <= threads * 2_000, "{retries} for {threads} threads");
        assert!(retries > 0);
    }
}

#[test]
fn every_token_is_granted_once_and_every_refund_comes_back() {
    for threads in THREADS {
        let ledger = ledger(TokenPlan::new(1_000, 5).expect("in bounds"));
        assert_eq!(together(threads, &ledger, |_, ledger| granted(ledger, second(0), 500)), 200);
        assert_eq!(ledger.stats(second(0)).level.held, 0);

        // Each deposit is exact below the capacity.
        together(threads, &ledger, |_, mut ledger| {
            (0..100).for_each(|_| ledger.on_settled(second(0), Settled::FirstTry));
            0
        });
        assert_eq!(ledger.stats(second(0)).level.held, threads as u64 * 100);

        // Each thread asks and gives back: in the end nothing is gone.
        together(threads, &ledger, |_, mut ledger| {
            for _ in 0..10_000 {
                if let Some(paid) = ledger.ask(second(0), Charge::Retry) {
                    ledger.refund(second(0), paid);
                }
            }
            0
        });
        let stats = ledger.stats(second(0));
        assert_eq!(stats.level.held, threads as u64 * 100);
        assert_eq!(stats.refunds, stats.grants - 200);
    }
}

#[test]
fn a_window_gets_back_every_refund() {
    for threads in THREADS {
        let ledger = ledger(BudgetPlan::default());
        together(threads, &ledger, |number, mut ledger| {
            for step in 0..5_000_u64 {
                let now = Instant::from_nanos(step * 1_000_000 + number as u64 * 100_000);
                if let Some(paid) = ledger.ask(now, Charge::Retry) {
                    ledger.refund(now, paid);
                }
            }
            0
        });
        assert_eq!(ledger.stats(second(5)).level.retries, 2);
        assert_eq!(granted(&ledger, second(5), 20), 2);
    }
}

#[test]
fn a_throttle_counts_every_failure() {
    for threads in THREADS {
        let ledger = ledger(ThrottlePlan::new(1_000, Ratio::ONE).expect("in bounds"));
        together(threads, &ledger, |_, mut ledger| {
            (0..50).for_each(|_| ledger.on_settled(second(0), Settled::Failed));
            0
        });
        let left = 1_000_000 - threads as u64 * 50_000;
        assert_eq!(ledger.stats(second(0)).level.held, left);
    }
}

#[test]
fn an_interval_grants_its_number_to_all_threads_together() {
    for threads in THREADS {
        let ledger = ledger(IntervalPlan::new(3, Span::from_secs(30)).expect("in bounds"));
        for round in 0..50 {
            let now = second(round * 30);
            let retries = together(threads, &ledger, move |_, ledger| granted(ledger, now, 20));
            assert_eq!(retries, 3);
        }
    }
}

#[test]
fn a_breaker_counts_every_result_and_opens_on_the_one_that_is_too_many() {
    for threads in THREADS {
        let most = u32::try_from(threads * 1_000).expect("a few thousand");
        let plan = BreakerPlan::builder().ratio(Ratio::ONE).minimum_calls(most);
        let policy = Policy::builder().breaker(plan.build().expect("in bounds"));
        let ledger = Arc::new(LocalLedger::new(&policy.build().expect("in bounds")));
        together(threads, &ledger, move |number, ledger| {
            let all = if number == 0 { 999 } else { 1_000 };
            fail(ledger, second(0), all);
            0
        });
        assert_eq!(ledger.stats(second(0)).breaker, Some(StateKind::Closed), "one is missing");
        fail(&ledger, second(0), 1);
        let stats = ledger.stats(second(0));
        assert_eq!((stats.breaker, stats.breaker_opened), (Some(StateKind::Open), 1));
    }
}

#[test]
fn a_breaker_counts_every_success_of_every_thread() {
    // The last are more than have a lane of their own.
    for threads in [2, 8, 12] {
        let plan = BreakerPlan::builder().ratio(Ratio::from_percent(50)).minimum_calls(1);
        let policy = Policy::builder().breaker(plan.build().expect("in bounds"));
        let ledger = Arc::new(LocalLedger::new(&policy.build().expect("in bounds")));
        together(threads, &ledger, move |_, ledger| {
            report(ledger, second(0), 1_000, Report::Success);
            report(ledger, second(1), 1_000, Report::Success);
            0
        });
        // With the turn at second 2, those that the turn at second 1 overtook are in the sum too.
        fail(&ledger, second(2), threads * 2_000 - 1);
        assert_eq!(ledger.stats(second(2)).breaker, Some(StateKind::Closed), "one is missing");
        fail(&ledger, second(2), 1);
        assert_eq!(ledger.stats(second(2)).breaker, Some(StateKind::Open));
    }
}

#[test]
fn exactly_the_probes_are_admitted_however_many_ask() {
    for threads in THREADS {
        for probes in 1..=3 {
            let plan = BreakerPlan::builder().probes(probes).minimum_calls(1);
            let policy = Policy::builder().breaker(plan.build().expect("in bounds"));
            let ledger = Arc::new(LocalLedger::new(&policy.build().expect("in bounds")));
            fail(&ledger, second(0), 1);
            let admitted = together(threads, &ledger, |_, mut ledger| {
                (0..100).filter(|_| ledger.admit(second(5)).ticket().is_some()).count()
            });
            assert_eq!(admitted, probes as usize);
            assert_eq!(ledger.stats(second(5)).breaker, Some(StateKind::HalfOpen));
        }
    }
}

#[test]
fn a_breaker_under_fire_from_all_threads_is_never_stuck() {
    for threads in THREADS {
        let ledger = ledger(BudgetPlan::Unlimited);
        together(threads, &ledger, |number, mut ledger| {
            for step in 0..5_000_u64 {
                let now = Instant::from_nanos(step * 50_000_000 + number as u64);
                if let Some(ticket) = ledger.admit(now).ticket() {
                    let report = if step % 3 == 0 { Report::Success } else { Report::Failure };
                    ledger.report(now, ticket, report, &mut || step);
                }
            }
            0
        });
        let mut ledger = &*ledger;
        let late = second(1_000);
        let probe = ledger.admit(late).ticket().expect("any open time and lease is over");
        ledger.report(late, probe, Report::Success, &mut || 0);
        assert_eq!(ledger.stats(late).breaker, Some(StateKind::Closed));
    }
}

#[test]
fn a_grant_that_is_free_is_no_refund() {
    let ledger = ledger(BudgetPlan::Unlimited);
    (&*ledger).refund(second(0), Paid::FREE);
    assert_eq!(ledger.stats(second(0)).refunds, 0);
}

fn fail(ledger: &LocalLedger, now: Instant, times: usize) {
    report(ledger, now, times, Report::Failure);
}

fn report(mut ledger: &LocalLedger, now: Instant, times: usize, report: Report) {
    for _ in 0..times {
        if let Some(ticket) = ledger.admit(now).ticket() {
            ledger.report(now, ticket, report, &mut || 0);
        }
    }
}
