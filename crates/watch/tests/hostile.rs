//! Logs that are written to blind, mislead or exhaust a detector.

use proptest::prelude::*;
use stagger_core::Span;
use stagger_replay::{CallerIdentity, LoggedAttempt, LoggedNames, LoggedOutcome, Stamp};
use stagger_watch::{StormDetector, WatchEvent, WatchSettings};

const START: u64 = 1_700_000_000_000;

fn attempt(ms: u64, key: u64, failed: bool) -> LoggedAttempt {
    let grain = Span::from_millis(1);
    LoggedAttempt {
        stamp: Stamp { since_epoch: Span::from_millis(ms), grain },
        at_end: false,
        answer: if failed { LoggedOutcome::Failed } else { LoggedOutcome::Served },
        took: Some(Span::from_millis(1)),
        worked: None,
        caller: CallerIdentity::Id(key),
        number: None,
        behind: 1,
    }
}

fn events(attempts: impl IntoIterator<Item = LoggedAttempt>) -> (StormDetector, Vec<WatchEvent>) {
    let mut detector = StormDetector::new(WatchSettings::default());
    let mut events = Vec::new();
    for attempt in attempts {
        events.extend(detector.push(&attempt, &LoggedNames::default()));
    }
    (detector, events)
}

/// Calls of 30 s, a hundred a second, each made three times when it fails.
fn calls(fails: impl Fn(u64) -> bool) -> impl Iterator<Item = LoggedAttempt> {
    (0..3_000_u64).flat_map(move |call| {
        let failed = fails(call);
        let attempts = if failed { 3 } else { 1 };
        (0..attempts).map(move |n| attempt(START + 10 * call + 2 * n, call, failed))
    })
}

#[test]
fn a_storm_is_seen_among_callers_that_never_come_back() {
    // Twenty unknown callers fail beside each attempt, 120 000 of them in all.
    let flood = calls(|call| call >= 1_500).flat_map(|one| {
        let ms = one.stamp.since_epoch.as_nanos() / 1_000_000;
        let CallerIdentity::Id(key) = one.caller else { unreachable!("ids") };
        let others = (1..=20).map(move |n| attempt(ms, (key << 32) | ((ms % 7) << 8) | n, true));
        std::iter::once(one).chain(others)
    });
    let (detector, events) = events(flood);
    // One attempt in 21 is the storm's, so attempts a call of all of them stay near 1.
    assert_eq!(events, []);
    let now = detector.now().unwrap();
    assert!(now.estimate.attempts_a_call() < 1.4, "{now:?}");
    assert!(now.one_in > 1, "{now:?}");
}

#[test]
fn wrong_dates_among_the_lines_hide_no_storm() {
    let odd = calls(|call| call >= 1_500).enumerate().flat_map(|(number, one)| {
        let wrong = match number % 10 {
            1 => Some(attempt(1, 7, true)),
            5 => Some(attempt(START + 90_000_000, 8, true)),
            _ => None,
        };
        wrong.into_iter().chain([one])
    });
    let (detector, events) = events(odd);
    assert!(matches!(events[0], WatchEvent::Began(_)), "{events:?}");
    assert_eq!(detector.totals().jumps, 0);
    assert_eq!(detector.totals().out_of_time, 1_200);
}

#[test]
fn a_clock_that_is_set_ends_a_storm_and_the_next_one_is_seen() {
    let hour = 3_600_000;
    let again = calls(|_| true).map(|one| {
        let since_epoch = one.stamp.since_epoch + Span::from_millis(hour);
        LoggedAttempt { stamp: Stamp { since_epoch, ..one.stamp }, ..one }
    });
    let (detector, events) = events(calls(|_| true).chain(again));
    let began = events.iter().filter(|event| matches!(event, WatchEvent::Began(_))).count();
    let ended = events.iter().filter(|event| matches!(event, WatchEvent::Ended(_))).count();
    assert_eq!((began, ended, detector.totals().jumps), (2, 1, 1));
}

#[derive(Clone, Debug)]
struct Odd {
    nanos: u64,
    took: Option<u64>,
    key: u64,
    kind: u8,
    number: Option<u32>,
    behind: u32,
}

fn odd() -> impl Strategy<Value = Odd> {
    let nanos = prop_oneof![any::<u64>(), START * 1_000_000..(START + 60_000) * 1_000_000];
    let fields =
        (nanos, any::<Option<u64>>(), 0..50_u64, any::<u8>(), any::<Option<u32>>(), any::<u32>());
    fields.prop_map(|(nanos, took, key, kind, number, behind)| Odd {
        nanos,
        took,
        key,
        kind,
        number,
        behind,
    })
}

proptest! {
    #[test]
    fn any_log_is_taken_and_storms_begin_and_end_in_turn(
        lines in proptest::collection::vec(odd(), 0..400), passes in 0..200_000_000_000_u64,
    ) {
        let mut detector = StormDetector::new(WatchSettings::default());
        let mut events = Vec::new();
        for line in lines {
            let Odd { nanos, took, key, kind, number, behind } = line;
            let caller = match kind % 3 {
                0 => CallerIdentity::Id(key),
                1 => CallerIdentity::Request(key),
                _ => CallerIdentity::Unknown,
            };
            let attempt = LoggedAttempt {
                stamp: Stamp { since_epoch: Span::from_nanos(nanos), grain: Span::from_millis(1) },
                at_end: kind & 8 == 0,
                took: took.map(Span::from_nanos),
                caller,
                number,
                behind,
                ..attempt(0, key, kind & 16 == 0)
            };
            events.extend(detector.push(&attempt, &LoggedNames::default()));
        }
        events.extend(detector.pass(Span::from_nanos(passes)));
        events.extend(detector.finish());
        let mut is_on = false;
        for event in events {
            match event {
                WatchEvent::Began(storm) => {
                    prop_assert!(!is_on && storm.estimate.at_least() >= 1.4);
                    is_on = true;
                }
                WatchEvent::Continues(_) => prop_assert!(is_on),
                WatchEvent::Ended(summary) => {
                    prop_assert!(is_on && summary.began.since_epoch <= summary.ended.since_epoch);
                    is_on = false;
                }
            }
        }
        prop_assert!(!is_on);
    }
}
