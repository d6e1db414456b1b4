//! Lanes that move from one leader to the next.

use std::num::NonZeroU32;

use proptest::prelude::*;
use stagger::{Instant, Ratio, Span};
use stagger_dispatch::lane::{Floor, Next};
use stagger_dispatch::model::{Delivery, Endpoint, Pace, Recovery, Standing};
use stagger_testkit::{highest, lowest};

use crate::fixture::{APP, answer, at, endpoint, endpoint_id, message, slots};

/// The slack of a cap on the rate, and of a recovery, as in `lane/tempo.rs`.
const CAP_SLACK: Span = Span::from_millis(100);
const RECOVERY_SLACK: Span = Span::from_millis(5);

/// A leader with more deliveries than it can make attempts.
struct Leader {
    floor: Floor,
    sent: Vec<u64>,
}

impl Leader {
    fn begin(now: Instant, endpoint: &Endpoint, standing: Option<Standing>) -> Self {
        let mut floor = Floor::new(slots(1_000));
        floor.put_endpoint(now, endpoint, standing);
        for n in 0..2_000 {
            floor.add(now, &Delivery::new(message(n), endpoint_id(1), APP, now));
        }
        Self { floor, sent: Vec::new() }
    }

    /// Sends what it may, looking only at some instants, as a busy node does.
    fn run(&mut self, mut now: Instant, gaps: &[u64]) -> Instant {
        for gap in gaps {
            while let Next::Send(launch) = self.floor.next(now, &mut lowest()) {
                self.sent.push(now.as_nanos());
                self.floor.settle(now, launch, answer(Ok(200)), &mut highest());
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
        let mut new = Leader::begin(now, &endpoint, Some(Standing::default()));
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
        let standing = Standing { recovering_since: Some(at(0)), ..Standing::default() };
        let mut old = Leader::begin(at(0), &endpoint, Some(standing));
        let now = old.run(at(0), &first);
        let mut new = Leader::begin(now, &endpoint, Some(standing));
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
    let at_once = |standing| {
        let mut leader = Leader::begin(at(0), &endpoint, standing);
        leader.run(at(0), &[0]);
        (leader.sent.len(), leader.floor.next(at(0), &mut lowest()))
    };
    assert_eq!(at_once(None), (10, Next::Until(at(10))));
    assert_eq!(at_once(Some(Standing::default())), (0, Next::Until(at(10))));
}

#[test]
fn a_lane_that_is_given_up_launches_nothing_and_settles_what_is_under_way() {
    let mut floor = Floor::new(slots(2));
    floor.put_endpoint(at(0), &endpoint(1), None);
    for n in 0..3 {
        floor.add(at(0), &Delivery::new(message(n), endpoint_id(1), APP, at(0)));
    }
    let Next::Send(launch) = floor.next(at(0), &mut lowest()) else { panic!("nothing is sent") };
    floor.rest(endpoint_id(1));
    floor.put_endpoint(at(0), &endpoint(1), None);
    assert_eq!(
        (floor.next(at(0), &mut lowest()), floor.is_idle(endpoint_id(1))),
        (Next::Idle, false)
    );
    floor.settle(at(1), launch, answer(Ok(200)), &mut highest()).expect("it counts");
    assert_eq!(
        (floor.next(at(1), &mut lowest()), floor.is_idle(endpoint_id(1))),
        (Next::Idle, true)
    );
    assert_eq!(floor.endpoints().collect::<Vec<_>>(), [endpoint_id(1)]);
    assert!(floor.is_idle(endpoint_id(2)));
}
