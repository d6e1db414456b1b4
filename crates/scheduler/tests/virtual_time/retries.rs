//! Attempts that an operator asks for before their time.

use stagger_core::breaker::StateKind;
use stagger_core::{Hint, Instant, Span};
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, Delivery, DeliveryState, Disabled, Endpoint, Statuses,
};
use stagger_scheduler::{Launch, NextLaunch, Scheduler, SettledAttempt};
use stagger_testkit::{highest, lowest};

use crate::fixture::{APP, answer, at, endpoint, endpoint_id, message, slots};

struct RetryCase {
    scheduler: Scheduler,
    now: Instant,
}

impl RetryCase {
    /// An endpoint with messages 1 to `count`.
    fn with(endpoint: &Endpoint, count: u128) -> Self {
        let mut scheduler = Scheduler::new(slots(1_000));
        scheduler.put_endpoint(at(0), endpoint, None);
        for n in 1..=count {
            let delivery = Delivery::new(message(n), endpoint_id(1), APP, at(0));
            scheduler.add(at(0), &delivery);
        }
        Self { scheduler, now: at(0) }
    }

    fn next(&mut self) -> Option<Launch> {
        match self.scheduler.next(self.now, &mut lowest()) {
            NextLaunch::Send(launch) => Some(launch),
            _ => None,
        }
    }

    fn settle(&mut self, launch: Launch, answer: AttemptAnswer) -> SettledAttempt {
        let settled = self.scheduler.settle(self.now, launch, answer, &mut highest());
        settled.expect("its delivery is there")
    }

    /// Fails everything that is attempted, until there is nothing to attempt now.
    fn fail(&mut self) {
        while let Some(launch) = self.next() {
            self.settle(launch, answer(Err(AttemptFailure::Connect)));
        }
    }

    fn breaker(&self) -> StateKind {
        self.scheduler.view(self.now, endpoint_id(1)).expect("it was put").breaker
    }
}

#[test]
fn a_retry_is_the_probe_of_an_open_breaker() {
    let mut case = RetryCase::with(&endpoint(1), 9);
    case.fail();
    assert_eq!(case.breaker(), StateKind::Open);
    let change = case.scheduler.retry(case.now, message(4), endpoint_id(1)).expect("it is open");
    let delivery = change.delivery.expect("it is due now");
    assert_eq!((delivery.message, delivery.due), (message(4), case.now));
    let (_, state) = change.endpoint_state.expect("the probe is due");
    assert_eq!(state.open.map(|opened| opened.until), Some(case.now));
    let launch = case.next().expect("the probe goes now");
    assert_eq!((launch.message, launch.probe), (message(4), true));
    assert_eq!(case.next(), None, "one probe at a time");
    case.settle(launch, answer(Ok(200)));
    assert_ne!(case.breaker(), StateKind::Open);
}

#[test]
fn a_second_retry_does_not_disturb_the_probe_in_flight() {
    let mut case = RetryCase::with(&endpoint(1), 9);
    case.fail();
    case.scheduler.retry(case.now, message(4), endpoint_id(1)).expect("it is open");
    let launch = case.next().expect("the probe goes now");
    case.scheduler.retry(case.now, message(5), endpoint_id(1)).expect("it is open");
    case.scheduler.probe(case.now, endpoint_id(1)).expect("it is known");
    assert_eq!(case.next(), None);
    case.settle(launch, answer(Ok(200)));
    assert_eq!(case.breaker(), StateKind::Closed);
}

#[test]
fn a_retry_ends_a_pause_and_goes_before_older_deliveries() {
    let mut case = RetryCase::with(&endpoint(1), 3);
    let launch = case.next().expect("one is ready");
    let hint = Some(Hint::AtLeast(Span::from_secs(3_600)));
    case.settle(launch, AttemptAnswer { hint, ..answer(Ok(503)) });
    assert_eq!(case.next(), None, "it is paused");
    case.scheduler.retry(case.now, message(3), endpoint_id(1)).expect("it is open");
    assert_eq!(case.next().expect("the pause is over").message, message(3));
}

#[test]
fn where_order_is_kept_the_oldest_delivery_is_retried_first() {
    let mut case = RetryCase::with(&Endpoint { ordered: true, ..endpoint(1) }, 3);
    let launch = case.next().expect("the first is ready");
    case.settle(launch, answer(Ok(500)));
    assert_eq!(case.next(), None, "the first one waits, and holds up the others");
    case.scheduler.retry(case.now, message(3), endpoint_id(1)).expect("it is open");
    assert_eq!(case.next().expect("the first is due").message, message(1));
}

#[test]
fn a_disabled_endpoint_is_not_retried() {
    let mut case = RetryCase::with(&endpoint(1), 3);
    case.scheduler.disable(case.now, endpoint_id(1), Disabled::ByHand);
    case.scheduler.retry(case.now, message(3), endpoint_id(1)).expect("it is open");
    case.scheduler.probe(case.now, endpoint_id(1)).expect("it is known");
    assert_eq!(case.next(), None);
    assert_eq!(case.scheduler.retry(case.now, message(9), endpoint_id(1)), None);
}

#[test]
fn enabling_probes_now_whatever_is_due_later() {
    let mut case = RetryCase::with(&endpoint(1), 9);
    case.fail();
    case.scheduler.enable(case.now, endpoint_id(1)).expect("it is known");
    assert!(case.next().expect("an open breaker lets a probe go").probe);

    let mut case = RetryCase::with(&endpoint(1), 2);
    case.fail();
    case.scheduler.disable(case.now, endpoint_id(1), Disabled::ByHand);
    case.scheduler.enable(case.now, endpoint_id(1)).expect("it is known");
    assert!(case.next().expect("a waiting delivery is the probe").probe);
}

#[test]
fn deliveries_that_the_store_made_due_leave_slowly_after_a_probe() {
    let mut case = RetryCase::with(&endpoint(1), 40);
    let mut failed = Vec::new();
    case.scheduler.enable(case.now, endpoint_id(1));
    while let Some(launch) = case.next() {
        let settled = case.settle(launch, answer(Ok(429)));
        failed.extend(settled.change.delivery);
    }
    assert!(failed.len() > 3);
    case.now = case.now + Span::from_secs(1);
    case.scheduler.probe(case.now, endpoint_id(1)).expect("it is known");
    for delivery in &failed {
        assert_eq!(delivery.state, DeliveryState::Waiting);
        case.scheduler.add(case.now, &delivery.made_due(case.now));
    }
    let view = case.scheduler.view(case.now, endpoint_id(1)).expect("it was put");
    assert!(view.ready >= failed.len(), "{view:?}");
    let mut left = 0;
    while let Some(launch) = case.next() {
        case.settle(launch, answer(Ok(200)));
        left += 1;
    }
    assert!(left < 5, "{left} left in one moment");
}

#[test]
fn an_endpoint_that_refuses_every_message_is_failing() {
    let refusing = Statuses::try_from(vec![422]).expect("it is a status");
    let mut case = RetryCase::with(&Endpoint { permanent: refusing, ..endpoint(1) }, 3);
    let launch = case.next().expect("one is ready");
    let settled = case.settle(launch, answer(Ok(422)));
    let (_, state) = settled.change.endpoint_state.expect("it is in trouble");
    assert_eq!((state.failing_since, state.open), (Some(at(0)), None));
    let failure = state.last_failure.expect("it has failed");
    assert_eq!((failure.message, failure.status), (launch.message, Some(422)));
    case.now = at(6 * 24 * 3_600_000);
    let launch = case.next().expect("one is ready");
    let settled = case.settle(launch, answer(Ok(422)));
    let (_, state) = settled.change.endpoint_state.expect("it is disabled");
    assert_eq!(state.disabled, Some(Disabled::Failing));
}

#[test]
fn a_recovery_that_has_become_too_fast_to_hold_anything_back_shows_no_rate() {
    let mut case = RetryCase::with(&endpoint(1), 0);
    case.scheduler.recover(case.now, endpoint_id(1));
    let view =
        |case: &RetryCase| case.scheduler.view(case.now, endpoint_id(1)).expect("it was put");
    assert_eq!(view(&case).rate, Some(10));
    case.now = at(20 * 60_000);
    assert_eq!(view(&case).rate, None, "a rate beyond every count is no bound");
}
