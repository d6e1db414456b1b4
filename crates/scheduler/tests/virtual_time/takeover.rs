//! Queues that move from one leader to the next.

use std::num::NonZeroU32;

use proptest::prelude::*;
use stagger_core::{Instant, Ratio, Span};
use stagger_scheduler::model::{Delivery, Endpoint, EndpointState, Pace, Recovery};
use stagger_scheduler::{NextLaunch, Scheduler};
use stagger_testkit::{highest, lowest};

use crate::fixture::{APP, answer, at, endpoint, endpoint_id, message, slots};

/// The slack of a cap on the rate, and of a recovery, as in `pacer.rs`.
const CAP_SLACK: Span = Span::from_millis(100);
const RECOVERY_SLACK: Span = Span::from_millis(5);

/// A leader with more deliveries than it can make attempts.
struct Leader {
    scheduler: Scheduler,
    sent: Vec<u64>,
}

impl Leader {
    fn begin(now: Instant, endpoint: &Endpoint, endpoint_state: Option<EndpointState>) -> Self {
        let mut scheduler = Scheduler::new(slots(1_000));
        scheduler.put_endpoint(now, endpoint, endpoint_state);
        for n in 0..2_000 {
            scheduler.add(now, &Delivery::new(message(n), endpoint_id(1), APP, now));
        }
        Self { scheduler, sent: Vec::new() }
    }

    /// Sends all allowed attempts, observed only at some instants, as a busy node does.
    fn run(&mut self, mut now: Instant, gaps: &[u64]) -> Instant {
        for gap in gaps {
            while let NextLaunch::Send(launch) = self.scheduler.next(now, &mut lowest()) {
                self.sent.push(now.as_nanos());
                self.scheduler.settle(now, launch, answer(Ok(200)), &mut highest());
            }
            now = now + Span::from_micros(*gap);
        }
        now
    }
}

/// Whether no window of `sent` has more than `1 + (w + slack) / interval`.
fn is_within(sent: &[u64], rate: u32, slack: Span) -> bool {
    let interval = 1_000_000_000_u64.div_ceil(rate.into());
    let slack = slack.as_nanos().saturating_sub(interval);
    let windows = sent.iter().enumerate().flat_map(|(i, from)| {
        sent[i..].iter().enumerate().map(move |(count, to)| (count as u64, to - from))
    });
    windows.into_iter().all(|(count, window)| count <= (window + slack) / interval)
}

fn gaps() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![3 => 0_u64..20_000, 1 => 0_u64..300_000], 1..60)
}

proptest! {
    #[test]
    fn two_leaders_together_stay_below_the_cap(
        rate in 1_u32..300,
        (first, second) in (gaps(), gaps()),
        pause in 0_u64..400_000,
    ) {
        let pace = Pace { rate: NonZeroU32::new(rate), ..Pace::default() };
        let endpoint = Endpoint { pace, ..endpoint(1) };
        let mut old = Leader::begin(at(0), &endpoint, None);
        let now = old.run(at(0), &first) + Span::from_micros(pause);
        let mut new = Leader::begin(now, &endpoint, Some(EndpointState::default()));
        new.run(now, &second);
        let sent = [old.sent, new.sent].concat();
        prop_assert!(is_within(&sent, rate, CAP_SLACK), "{rate} {sent:?}");
    }

    #[test]
    fn two_leaders_together_stay_below_the_rate_of_a_recovery(
        rate in 1_u32..300,
        (first, second) in (gaps(), gaps()),
    ) {
        let over = Span::from_secs(10_000);
        let rate_of = NonZeroU32::new(rate).expect("above zero");
        let recovery = Recovery { from: Ratio::ONE, rate: rate_of, over };
        let endpoint = Endpoint { pace: Pace { recovery, ..Pace::default() }, ..endpoint(1) };
        let endpoint_state = EndpointState { recovering_since: Some(at(0)), ..EndpointState::default() };
        let mut old = Leader::begin(at(0), &endpoint, Some(endpoint_state));
        let now = old.run(at(0), &first);
        let mut new = Leader::begin(now, &endpoint, Some(endpoint_state));
        new.run(now, &second);
        let sent = [old.sent, new.sent].concat();
        let interval = Span::from_nanos(1_000_000_000_u64.div_ceil(rate.into()));
        prop_assert!(is_within(&sent, rate, RECOVERY_SLACK + interval), "{rate} {sent:?}");
    }
}

#[test]
fn a_new_endpoint_has_its_whole_slack_and_one_taken_over_has_none() {
    let pace = Pace { rate: NonZeroU32::new(100), ..Pace::default() };
    let endpoint = Endpoint { pace, ..endpoint(1) };
    let at_once = |endpoint_state| {
        let mut leader = Leader::begin(at(0), &endpoint, endpoint_state);
        leader.run(at(0), &[0]);
        (leader.sent.len(), leader.scheduler.next(at(0), &mut lowest()))
    };
    assert_eq!(at_once(None), (10, NextLaunch::Until(at(10))));
    assert_eq!(at_once(Some(EndpointState::default())), (0, NextLaunch::Until(at(10))));
}

#[test]
fn a_draining_queue_launches_nothing_and_settles_attempts_in_flight() {
    let mut scheduler = Scheduler::new(slots(2));
    scheduler.put_endpoint(at(0), &endpoint(1), None);
    for n in 0..3 {
        scheduler.add(at(0), &Delivery::new(message(n), endpoint_id(1), APP, at(0)));
    }
    let NextLaunch::Send(launch) = scheduler.next(at(0), &mut lowest()) else {
        panic!("nothing is sent")
    };
    scheduler.drain(endpoint_id(1));
    scheduler.put_endpoint(at(0), &endpoint(1), None);
    assert_eq!(
        (scheduler.next(at(0), &mut lowest()), scheduler.is_idle(endpoint_id(1))),
        (NextLaunch::Idle, false)
    );
    scheduler.settle(at(1), launch, answer(Ok(200)), &mut highest()).expect("it counts");
    assert_eq!(
        (scheduler.next(at(1), &mut lowest()), scheduler.is_idle(endpoint_id(1))),
        (NextLaunch::Idle, true)
    );
    assert_eq!(scheduler.endpoints().collect::<Vec<_>>(), [endpoint_id(1)]);
    assert!(scheduler.is_idle(endpoint_id(2)));
}

#[test]
fn retries_wait_as_long_as_they_are_told_and_first_attempts_go_on() {
    let (mut scheduler, mut now) = (Scheduler::new(slots(10)), at(1_000));
    scheduler.put_endpoint(now, &endpoint(1), None);
    scheduler.add(now, &Delivery::new(message(1), endpoint_id(1), APP, now));
    let NextLaunch::Send(first) = scheduler.next(now, &mut lowest()) else { panic!("it is due") };
    assert!(!first.retry);
    scheduler.settle(now, first, answer(Ok(503)), &mut highest());
    // When its delay is over, the retry is refused.
    let NextLaunch::Until(due) = scheduler.next(now, &mut lowest()) else { panic!("it waits") };
    now = due;
    let NextLaunch::Send(retry) = scheduler.next(now, &mut lowest()) else { panic!("it is due") };
    assert!(retry.retry && retry.number == 2);
    let until = now + Span::from_millis(100);
    scheduler.put_off(now, retry, until, &mut highest());
    assert_eq!(scheduler.in_flight(), 0);
    assert_eq!(scheduler.next(now, &mut lowest()), NextLaunch::Until(until));
    // A first attempt goes immediately meanwhile.
    scheduler.add(now, &Delivery::new(message(2), endpoint_id(1), APP, now));
    let NextLaunch::Send(fresh) = scheduler.next(now, &mut lowest()) else { panic!("it is due") };
    assert_eq!((fresh.message, fresh.retry), (message(2), false));
    scheduler.settle(now, fresh, answer(Ok(200)), &mut highest());
    // Nothing was counted: the same retry is made then.
    let NextLaunch::Send(again) = scheduler.next(until, &mut lowest()) else {
        panic!("its time has come")
    };
    assert_eq!((again.message, again.number), (message(1), 2));
}
