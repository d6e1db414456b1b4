//! The ledgers of many destinations: bounded, forgetful in the right order, and shared.

use std::sync::Arc;
use std::thread;

use stagger::breaker::{BreakerPlan, Report, StateKind};
use stagger::budget::IntervalPlan;
use stagger::engine::Ledger;
use stagger::engine::breaker::Destination;
use stagger::engine::budget::Charge;
use stagger::{Instant, Ledgers, LocalLedger, Policy, Span};

fn second(n: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(n)
}

fn policy() -> Policy {
    let breaker = BreakerPlan::builder().minimum_calls(1).build().expect("in bounds");
    Policy::builder().breaker(breaker).build().expect("in bounds")
}

fn ledgers(bound: usize) -> Ledgers<String> {
    Ledgers::new(&policy()).with_bound(bound).expect("in bounds")
}

fn open(mut ledger: &LocalLedger, now: Instant) {
    let ticket = ledger.admit(now).ticket().expect("closed");
    ledger.report(now, ticket, Report::Failure, &mut || 0);
}

fn granted(mut ledger: &LocalLedger, now: Instant) -> usize {
    (0..1_000).filter(|_| ledger.ask(now, Charge::Retry).is_some()).count()
}

#[test]
fn clones_and_threads_share_one_budget_a_destination() {
    let ledgers = Ledgers::new(&policy());
    let one = Destination::of_url("https://a.example").expect("a URL");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (ledgers, one) = (ledgers.clone(), one.clone());
            thread::spawn(move || granted(&ledgers.ledger(second(0), &one), second(0)))
        })
        .collect();
    let all: usize = threads.into_iter().map(|thread| thread.join().expect("no panic")).sum();
    assert_eq!((all, ledgers.len()), (2, 1));
    let other = Destination::of_url("https://a.example:8443").expect("a URL");
    assert_eq!(granted(&ledgers.ledger(second(0), &other), second(0)), 2);
}

#[test]
fn a_hundred_thousand_destinations_do_not_fill_the_memory() {
    let ledgers = Ledgers::<u64>::new(&policy());
    for key in 0..100_000 {
        let _ = ledgers.ledger(second(key / 1_000), &key);
    }
    assert!((9_000..=10_000).contains(&ledgers.len()), "{}", ledgers.len());
    assert_eq!(ledgers.all_stats(second(100)).len(), ledgers.len());
}

// couchbase/couchbase-net-client PR 177: five hosts shared one breaker.
#[test]
fn one_ill_host_does_not_close_the_door_to_the_others() {
    let ledgers = Ledgers::new(&policy());
    let hosts = ["a", "b", "c", "d", "e"]
        .map(|host| Destination::new("https", host, None).expect("a host"));
    open(&ledgers.ledger(second(0), &hosts[0]), second(0));
    let refused = hosts.each_ref().map(|host| {
        let ledger = ledgers.ledger(second(1), host);
        (&*ledger).admit(second(1)).ticket().is_none()
    });
    assert_eq!(refused, [true, false, false, false, false]);
}

#[test]
fn a_flood_of_destinations_does_not_wash_away_the_open_ones() {
    let ledgers = Ledgers::<u32>::new(&policy()).with_bound(100).expect("in bounds");
    for key in 0..50 {
        open(&ledgers.ledger(second(0), &key), second(0));
    }
    for key in 50..10_000 {
        let _ = ledgers.ledger(second(1), &key);
        assert!(ledgers.len() <= 100);
    }
    let all = ledgers.all_stats(second(1));
    let still = all.iter().filter(|(_, stats)| stats.breaker == Some(StateKind::Open)).count();
    assert_eq!(still, 50);
    for key in 10_000..10_200 {
        open(&ledgers.ledger(second(2), &key), second(2));
        assert!(ledgers.len() <= 100, "the bound holds though all are open");
    }
}

#[test]
fn a_flood_of_destinations_does_not_push_out_the_busy_one() {
    let plan = IntervalPlan::new(1, Span::from_secs(3_600)).expect("in bounds");
    let policy = Policy::builder().budget(plan).build().expect("in bounds");
    let ledgers = Ledgers::<u64>::new(&policy).with_bound(3).expect("in bounds");
    assert_eq!(granted(&ledgers.ledger(second(0), &0), second(0)), 1);
    for key in 1..1_000 {
        let _ = ledgers.ledger(second(key), &key);
        let busy = ledgers.ledger(second(key), &0);
        assert_eq!(granted(&busy, second(key)), 0, "a fresh budget would grant one");
        assert!(ledgers.len() <= 3);
    }
}

#[test]
fn the_one_used_longest_ago_makes_room() {
    let ledgers = ledgers(2);
    for (now, key) in [(0, "a"), (1, "b"), (2, "a"), (3, "c")] {
        let _ = ledgers.ledger(second(now), key);
    }
    let there = ["a", "b", "c"].map(|key| ledgers.stats(second(3), key).is_some());
    assert_eq!(there, [true, false, true]);
}

#[test]
fn an_open_breaker_is_the_last_to_make_room() {
    let ledgers = ledgers(2);
    open(&ledgers.ledger(second(0), "ill"), second(0));
    for (now, key) in [(1, "a"), (2, "b"), (3, "c")] {
        let _ = ledgers.ledger(second(now), key);
    }
    let ill = ledgers.stats(second(3), "ill").and_then(|stats| stats.breaker);
    assert_eq!(ill, Some(StateKind::Open));
    assert_eq!(ledgers.len(), 2);
}

#[test]
fn a_ledger_in_somebodys_hand_is_not_doubled() {
    let ledgers = ledgers(2);
    let held = ledgers.ledger(second(0), "held");
    assert_eq!(granted(&held, second(0)), 2);
    let _ = ledgers.ledger(second(1), "a");
    let _ = ledgers.ledger(second(2), "b");
    ledgers.expire(second(10_000));
    assert_eq!(ledgers.len(), 1, "only the one that is held");
    assert!(Arc::ptr_eq(&held, &ledgers.ledger(second(10_000), "held")));
}

#[test]
fn idle_ledgers_are_forgotten_and_open_ones_are_not() {
    let ledgers = ledgers(10).with_idle(Span::from_secs(60)).expect("in bounds");
    let _ = ledgers.ledger(second(0), "idle");
    open(&ledgers.ledger(second(58), "ill"), second(58));
    let _ = ledgers.ledger(second(30), "used");
    ledgers.expire(second(62));
    let there = ["idle", "ill", "used"].map(|key| ledgers.stats(second(62), key).is_some());
    assert_eq!(there, [false, true, true]);
    // Anybody who brings a new one sweeps.
    let _ = ledgers.ledger(second(200), "new");
    assert_eq!(ledgers.len(), 1);
}

#[test]
fn a_budget_is_not_forgotten_before_its_interval_is_over() {
    let hour = Span::from_secs(3_600);
    let plan = IntervalPlan::new(1, hour).expect("in bounds");
    let policy = Policy::builder().budget(plan).build().expect("in bounds");
    let ledgers = Ledgers::<String>::new(&policy);
    assert_eq!(granted(&ledgers.ledger(second(0), "a"), second(0)), 1);
    ledgers.expire(second(3_599));
    assert_eq!(granted(&ledgers.ledger(second(3_599), "a"), second(3_599)), 0);

    let error = ledgers.with_idle(Span::from_secs(60)).expect_err("shorter than the interval");
    assert_eq!(error.field(), "ledgers.idle");
    assert_eq!(ledgers.with_bound(0).expect_err("none").field(), "ledgers.bound");
}
