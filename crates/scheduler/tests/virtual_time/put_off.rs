//! Attempts that a budget shared with others has refused.

use stagger_core::Span;
use stagger_scheduler::model::Delivery;
use stagger_scheduler::{NextLaunch, Scheduler};
use stagger_testkit::{highest, lowest};

use crate::fixture::{APP, answer, at, endpoint, endpoint_id, message, slots};

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
