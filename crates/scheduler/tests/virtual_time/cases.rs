//! The scheduler against known failures of other dispatchers.

use stagger_core::breaker::{BreakerPlan, StateKind};
use stagger_core::budget::IntervalPlan;
use stagger_core::{Backoff, Hint, HintRule, Instant, LongHint, Policy, Ratio, Span};
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, Delivery, DeliveryEnding, DeliveryState, Disabled, Endpoint,
};
use stagger_scheduler::{
    Launch, NextLaunch, OperationalEvent, QueueView, Scheduler, SettledAttempt,
};
use stagger_testkit::{highest, lowest};

use crate::fixture::{APP, answer, at, endpoint, endpoint_id, message, slots};

/// A scheduler with one endpoint, and its inputs.
pub(crate) struct World {
    pub(crate) scheduler: Scheduler,
    pub(crate) now: Instant,
}

impl World {
    pub(crate) fn of(endpoints: &[Endpoint]) -> Self {
        let mut scheduler = Scheduler::new(slots(1_000));
        for endpoint in endpoints {
            scheduler.put_endpoint(at(0), endpoint, None);
        }
        Self { scheduler, now: at(0) }
    }

    pub(crate) fn add(&mut self, endpoint: u128, messages: impl IntoIterator<Item = u128>) {
        for n in messages {
            let delivery = Delivery::new(message(n), endpoint_id(endpoint), APP, self.now);
            self.scheduler.add(self.now, &delivery);
        }
    }

    fn next(&mut self) -> NextLaunch {
        self.scheduler.next(self.now, &mut lowest())
    }

    fn launch(&mut self) -> Launch {
        match self.next() {
            NextLaunch::Send(launch) => launch,
            other => panic!("{other:?} instead of a launch"),
        }
    }

    /// All that can be launched now.
    pub(crate) fn launches(&mut self) -> Vec<Launch> {
        std::iter::from_fn(|| match self.next() {
            NextLaunch::Send(launch) => Some(launch),
            _ => None,
        })
        .collect()
    }

    pub(crate) fn wait(&mut self) -> Instant {
        match self.next() {
            NextLaunch::Until(until) => until,
            other => panic!("{other:?} instead of a wait"),
        }
    }

    pub(crate) fn settle(&mut self, launch: Launch, answer: AttemptAnswer) -> SettledAttempt {
        self.scheduler
            .settle(self.now, launch, answer, &mut highest())
            .expect("its delivery is there")
    }

    /// Attempts to the endpoint that fail one after the other, until it has to wait.
    fn fail(&mut self, result: Result<u16, AttemptFailure>) -> usize {
        let mut failed = 0;
        while let NextLaunch::Send(launch) = self.next() {
            self.settle(launch, answer(result));
            failed += 1;
        }
        failed
    }

    fn view(&self, endpoint: u128) -> QueueView {
        self.scheduler.view(self.now, endpoint_id(endpoint)).expect("it was put")
    }

    pub(crate) fn pass(&mut self, span: Span) {
        self.now = self.now + span;
    }
}

#[test]
fn a_delivered_message_is_gone_from_memory() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, [7]);
    let launch = world.launch();
    assert_eq!((launch.message, launch.number, launch.probe), (message(7), 1, false));
    let settled = world.settle(launch, answer(Ok(204)));
    let delivery = settled.change.delivery.unwrap();
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Delivered, 1));
    assert!(world.scheduler.is_empty() && settled.change.endpoint_state.is_none());
    assert_eq!((world.next(), world.scheduler.in_flight()), (NextLaunch::Idle, 0));
}

#[test]
fn a_hint_for_one_message_is_obeyed_by_all_others() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, [1, 2]);
    let launch = world.launch();
    let hint = Some(Hint::AtLeast(Span::from_secs(60)));
    let settled = world.settle(launch, AttemptAnswer { hint, ..answer(Ok(429)) });
    let (_, endpoint_state) = settled.change.endpoint_state.unwrap();
    assert_eq!(endpoint_state.paused_until, Some(at(60_000)));
    assert_eq!(world.wait(), at(60_000));
    let delivery = settled.change.delivery.unwrap();
    assert_eq!((delivery.state, delivery.due), (DeliveryState::Waiting, at(90_000)));
    world.now = at(60_000);
    assert_eq!(world.launch().message, message(2));
}

#[test]
fn deliveries_gathered_in_a_pause_are_not_sent_in_one_burst() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, [0]);
    let launch = world.launch();
    let hint = Some(Hint::AtLeast(Span::from_secs(60)));
    world.settle(launch, AttemptAnswer { hint, ..answer(Ok(429)) });
    world.add(1, 1..1_000);
    assert_eq!(world.wait(), at(60_000));
    world.now = at(60_000);
    assert_eq!(world.launches().len(), 1);
    assert_eq!(world.view(1).rate, Some(10), "the rate at which a recovery begins");
}

#[test]
fn a_hint_that_was_too_long_or_a_refusal_to_be_asked_again_ended_a_delivery() {
    let (minute, hour) = (Span::from_secs(60), Span::from_secs(3_600));
    let hints = HintRule::new(minute, Ratio::ZERO, LongHint::Stop).unwrap();
    let impatient = Policy::builder().hints(hints).max_attempts(9).deadline(hour).build().unwrap();
    let webhook = Policy::webhook().to_builder().deadline(hour).build().unwrap();
    for policy in [impatient, webhook] {
        for hint in [Hint::AtLeast(Span::from_secs(7_200)), Hint::Never] {
            let mut world = World::of(&[Endpoint { policy, ..endpoint(1) }]);
            world.add(1, [1]);
            let launch = world.launch();
            let settled =
                world.settle(launch, AttemptAnswer { hint: Some(hint), ..answer(Ok(503)) });
            let delivery = settled.change.delivery.unwrap();
            assert_eq!(
                (delivery.state, delivery.attempts),
                (DeliveryState::Waiting, 1),
                "{hint:?}"
            );
            let paused = settled
                .change
                .endpoint_state
                .and_then(|(_, endpoint_state)| endpoint_state.paused_until);
            let obeyed = hint.span().map(|span| at(0) + span.min(policy.hints().max()));
            assert_eq!(paused, obeyed);
            // The pause may end by hand; the delivery keeps the hint by itself, in the store too.
            assert!(obeyed.is_none_or(|until| until <= delivery.due), "{hint:?}");
            world.now = world.wait();
            assert!(obeyed.is_none_or(|until| until <= world.now));
            let again = world.launch();
            assert_eq!((again.message, again.number), (message(1), 2));
        }
    }
}

#[test]
fn an_endpoint_that_is_gone_is_disabled_and_its_delivery_kept() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, [1]);
    let launch = world.launch();
    let settled = world.settle(launch, answer(Ok(410)));
    assert_eq!(
        settled.event,
        Some(OperationalEvent::EndpointDisabled(endpoint_id(1), Disabled::Gone))
    );
    let (_, endpoint_state) = settled.change.endpoint_state.unwrap();
    assert_eq!(endpoint_state.disabled, Some(Disabled::Gone));
    assert_eq!(settled.change.delivery.unwrap().state, DeliveryState::Waiting);
    world.pass(Span::from_secs(24 * 60 * 60));
    assert_eq!(world.next(), NextLaunch::Idle);
    world.scheduler.enable(world.now, endpoint_id(1)).unwrap();
    let launch = world.launch();
    assert!(launch.probe && launch.number == 2);
}

#[test]
fn while_a_breaker_is_open_no_attempt_is_spent() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, 0..300);
    assert_eq!(world.fail(Err(AttemptFailure::Connect)), 5);
    let view = world.view(1);
    assert_eq!((view.breaker, view.ready, view.waiting), (StateKind::Open, 295, 5));
    let until = world.wait();
    assert_eq!((until, view.next_probe), (at(15_000), Some(until)));
    world.now = until;
    let probes = world.launches();
    assert_eq!(probes.len(), 1, "one probe, however many are ready");
    assert!(probes[0].probe);
    world.settle(probes[0], answer(Ok(503)));
    assert!(world.wait() >= until + Span::from_secs(20));
}

#[test]
fn a_backlog_leaves_slowly_once_its_endpoint_is_well() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, 0..300);
    world.fail(Ok(500));
    world.now = world.wait();
    let probe = world.launch();
    let settled = world.settle(probe, answer(Ok(200)));
    let (_, endpoint_state) = settled.change.endpoint_state.unwrap();
    assert_eq!((endpoint_state.open, endpoint_state.recovering_since), (None, Some(world.now)));
    assert_eq!(world.view(1).rate, Some(10));
    assert_eq!(world.launches().len(), 1);
    let until = world.wait();
    assert_eq!(until, world.now + Span::from_millis(95));
}

#[test]
fn the_last_attempt_of_a_policy_is_the_last() {
    let policy =
        Policy::builder().max_attempts(2).budget(stagger_core::budget::BudgetPlan::Unlimited);
    let policy = policy.build().unwrap();
    let mut world = World::of(&[Endpoint { policy, ..endpoint(1) }]);
    world.add(1, [1]);
    for number in 1..=2 {
        world.pass(Span::from_secs(10));
        let launch = world.launch();
        assert_eq!(launch.number, number);
        let settled = world.settle(launch, answer(Ok(500)));
        let delivery = settled.change.delivery.unwrap();
        let dead = number == 2;
        assert_eq!(delivery.ending, dead.then_some(DeliveryEnding::AttemptsExhausted));
        let event = OperationalEvent::DeliveryDead(endpoint_id(1), message(1));
        assert_eq!(settled.event, dead.then_some(event));
    }
    assert!(world.scheduler.is_empty());
}

#[test]
fn an_attempt_that_was_stopped_counts_as_not_made() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, [1]);
    let launch = world.launch();
    let stopped = answer(Err(AttemptFailure::Stopped));
    assert!(world.scheduler.settle(world.now, launch, stopped, &mut lowest()).is_none());
    assert_eq!((world.launch().number, world.scheduler.in_flight()), (1, 1));
}

#[test]
fn one_wrong_answer_of_a_name_server_ended_a_delivery() {
    let policy = Policy::builder().max_attempts(2).build().expect("within bounds");
    let mut world = World::of(&[Endpoint { policy, ..endpoint(1) }]);
    world.add(1, [1, 2]);
    let launches = world.launches();
    let refused = || answer(Err(AttemptFailure::Egress));
    for launch in &launches {
        let delivery = world.settle(*launch, refused()).change.delivery.expect("it changed");
        assert_eq!(delivery.state, DeliveryState::Waiting);
    }
    world.pass(Span::from_secs(60));
    let launch = world.launch();
    let delivery = world.settle(launch, refused()).change.delivery.expect("it changed");
    let ending = Some(DeliveryEnding::EgressRefused);
    assert_eq!((delivery.state, delivery.ending), (DeliveryState::Dead, ending));
}

/// An application whose slots were all of the node's could not reach the quarter that it keeps for endpoints
/// without an attempt in flight.
#[test]
fn endpoints_that_hang_held_up_a_healthy_one_of_the_same_application() {
    let endpoints: Vec<_> = (1..=100).map(endpoint).collect();
    let mut world = World::of(&endpoints);
    world.scheduler.put_application(APP, slots(1_000));
    for hanging in 1..100 {
        world.add(hanging, (0..16).map(|n| hanging * 100 + n));
    }
    assert!(world.launches().len() < 750);
    world.add(100, [1]);
    let launched: Vec<_> = world.launches().iter().map(|launch| launch.endpoint).collect();
    assert_eq!(launched, [endpoint_id(100)]);
}

/// A node without descriptors opened the breakers of endpoints that were well.
#[test]
fn an_attempt_for_which_the_node_lacked_resources_was_charged_to_the_endpoint() {
    let mut world = World::of(&[endpoint(1), endpoint(2)]);
    world.add(1, 0..20);
    let local = answer(Err(AttemptFailure::Local));
    for _ in 0..20 {
        for launch in world.launches() {
            assert_eq!((launch.number, launch.retry), (1, false));
            let settled = world.scheduler.settle(world.now, launch, local.clone(), &mut lowest());
            assert!(settled.is_none(), "there is nothing to store");
        }
        assert_eq!(world.wait(), world.now + Span::from_secs(1), "it is not tried again at once");
        world.pass(Span::from_secs(1));
    }
    let view = world.scheduler.view(world.now, endpoint_id(1)).expect("it is there");
    assert_eq!((view.breaker, view.endpoint_state.failing_since), (StateKind::Closed, None));
    world.add(2, [1]);
    assert!(world.launches().iter().any(|launch| launch.endpoint == endpoint_id(2)));
}

/// A token server that is down for an hour would have used up the attempts of every delivery.
#[test]
fn attempts_without_a_token_were_counted() {
    let mut world = World::of(&[endpoint(1), endpoint(2)]);
    world.add(1, 0..3);
    let unsent = answer(Err(AttemptFailure::Token));
    let mut waits = Vec::new();
    for _ in 0..9 {
        let launches = world.launches();
        assert!(!launches.is_empty());
        for launch in launches {
            assert_eq!((launch.number, launch.retry), (1, false));
            let settled = world.scheduler.settle(world.now, launch, unsent.clone(), &mut lowest());
            let change = settled.expect("the endpoint's state").change;
            assert_eq!((change.delivery, change.attempt), (None, None));
        }
        let wait = world.wait() - world.now;
        waits.push(wait);
        world.pass(wait);
    }
    // Failures of one moment count once, and the pause grows to a minute.
    let secs = [1, 2, 4, 8, 16, 32, 60, 60, 60].map(Span::from_secs);
    assert_eq!(waits, secs);
    let view = world.scheduler.view(world.now, endpoint_id(1)).expect("it is there");
    let last = view.endpoint_state.last_failure.and_then(|last| last.failure);
    assert_eq!((view.breaker, last), (StateKind::Closed, Some(AttemptFailure::Token)));
    assert!(view.endpoint_state.failing_since.is_some(), "people see that it fails");
    // A hint of the token server is a longer pause, and another endpoint goes on.
    let hinted = AttemptAnswer { hint: Some(Hint::AtLeast(Span::from_secs(90))), ..unsent };
    for launch in world.launches() {
        world.scheduler.settle(world.now, launch, hinted.clone(), &mut lowest());
    }
    assert_eq!(world.wait(), world.now + Span::from_secs(90));
    world.add(2, [1]);
    assert!(world.launches().iter().any(|launch| launch.endpoint == endpoint_id(2)));
    // Changed settings may be what was wrong: they are tried now.
    world.scheduler.put_endpoint(world.now, &endpoint(1), None);
    assert!(world.launches().iter().any(|launch| launch.endpoint == endpoint_id(1)));
}

#[test]
fn an_endpoint_without_a_token_for_too_long_is_disabled() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, 0..1);
    let unsent = answer(Err(AttemptFailure::Token));
    let launch = world.launches()[0];
    world.scheduler.settle(world.now, launch, unsent.clone(), &mut lowest());
    world.pass(endpoint(1).disable_after);
    let launch = world.launches()[0];
    let settled = world.scheduler.settle(world.now, launch, unsent, &mut lowest());
    let event = settled.and_then(|settled| settled.event);
    assert_eq!(event, Some(OperationalEvent::EndpointDisabled(endpoint_id(1), Disabled::Failing)));
}

/// The retries that are launched immediately after one of two was stopped, under a budget of one an
/// hour.
fn retries_after_a_stopped_one(written: bool) -> usize {
    let budget = IntervalPlan::new(1, Span::from_secs(3_600)).expect("within bounds");
    let policy = Policy::builder().budget(budget).build().expect("within bounds");
    let mut world = World::of(&[Endpoint { policy, ..endpoint(1) }]);
    world.add(1, 0..2);
    for launch in world.launches() {
        world.settle(launch, answer(Ok(500)));
    }
    world.pass(Span::from_secs(5));
    let retries = world.launches();
    assert_eq!(retries.len(), 1, "the budget has room for one");
    let stopped = AttemptAnswer { written, ..answer(Err(AttemptFailure::Stopped)) };
    world.scheduler.settle(world.now, retries[0], stopped, &mut lowest());
    world.launches().len()
}

#[test]
fn a_retry_that_was_stopped_after_its_request_was_written_got_its_permit_back() {
    assert_eq!(retries_after_a_stopped_one(true), 0, "the receiver may have seen it");
    assert_eq!(retries_after_a_stopped_one(false), 1, "nothing was sent");
}

#[test]
fn an_answer_to_a_cancelled_delivery_gives_its_slot_back() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, [1]);
    let launch = world.launch();
    let cancelled = world.scheduler.cancel(world.now, message(1), endpoint_id(1)).unwrap();
    assert_eq!(cancelled.state, DeliveryState::Cancelled);
    assert_eq!(world.scheduler.in_flight(), 1);
    assert!(world.scheduler.settle(world.now, launch, answer(Ok(200)), &mut lowest()).is_none());
    assert_eq!(world.scheduler.in_flight(), 0);
    assert!(world.scheduler.settle(world.now, launch, answer(Ok(200)), &mut lowest()).is_none());
    assert_eq!(world.scheduler.in_flight(), 0, "an answer that comes twice is heard once");
}

#[test]
fn a_failed_message_holds_up_those_after_it_where_order_is_asked_for() {
    let mut world = World::of(&[Endpoint { ordered: true, ..endpoint(1) }]);
    world.add(1, [1, 2, 3]);
    let launches = world.launches();
    assert_eq!(launches.len(), 1);
    world.settle(launches[0], answer(Ok(500)));
    assert_eq!(world.wait(), at(5_000));
    world.now = at(5_000);
    for n in 1..=3 {
        let launch = world.launch();
        assert_eq!(launch.message, message(n));
        world.settle(launch, answer(Ok(200)));
    }
}

#[test]
fn an_endpoint_enabled_while_still_down_goes_back_with_a_cooldown() {
    let endpoint = Endpoint { disable_after: Span::from_secs(60), ..endpoint(1) };
    let mut world = World::of(&[endpoint]);
    world.add(1, 0..50);
    let mut event = None;
    while event.is_none() {
        match world.next() {
            NextLaunch::Send(launch) => event = world.settle(launch, answer(Ok(404))).event,
            NextLaunch::Until(until) => world.now = until,
            NextLaunch::Idle => panic!("it gave up before it was disabled"),
        }
    }
    let failing = OperationalEvent::EndpointDisabled(endpoint_id(1), Disabled::Failing);
    assert_eq!(event, Some(failing));
    assert_eq!((world.next(), world.view(1).endpoint_state.open), (NextLaunch::Idle, None));

    world.pass(Span::from_secs(3 * 24 * 60 * 60));
    world.scheduler.enable(world.now, endpoint_id(1));
    let launches = world.launches();
    assert_eq!(launches.len(), 1);
    assert_eq!(world.settle(launches[0], answer(Ok(404))).event, Some(failing));
    assert_eq!(world.next(), NextLaunch::Idle);
    world.scheduler.enable(world.now, endpoint_id(1));
    assert_eq!(world.wait(), world.now + Span::from_secs(30), "enabling in a loop does not help");
}

#[test]
fn a_restart_forgets_nothing_of_an_endpoint() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, 0..20);
    world.fail(Ok(500));
    let endpoint_state = world.view(1).endpoint_state;
    assert!(endpoint_state.open.is_some() && endpoint_state.failing_since.is_some());
    let mut later = Scheduler::new(slots(10));
    later.put_endpoint(world.now, &endpoint(1), Some(endpoint_state));
    later.add(world.now, &Delivery::new(message(99), endpoint_id(1), APP, world.now));
    assert_eq!(
        later.next(world.now, &mut lowest()),
        NextLaunch::Until(endpoint_state.open.unwrap().until)
    );
    assert_eq!(later.view(world.now, endpoint_id(1)).unwrap().endpoint_state, endpoint_state);
    let now = endpoint_state.open.unwrap().until;
    let NextLaunch::Send(launch) = later.next(now, &mut lowest()) else { panic!("no probe") };
    assert!(launch.probe);
}

#[test]
fn a_removed_endpoint_keeps_its_slots_until_its_attempts_are_back() {
    let mut world = World::of(&[endpoint(1)]);
    world.add(1, 0..3);
    let launches = world.launches();
    world.scheduler.remove_endpoint(endpoint_id(1));
    assert_eq!((world.scheduler.len(), world.scheduler.in_flight()), (0, 3));
    for launch in launches {
        assert!(
            world.scheduler.settle(world.now, launch, answer(Ok(200)), &mut lowest()).is_none()
        );
    }
    assert_eq!(world.scheduler.in_flight(), 0);
}

#[test]
fn a_deadline_is_not_longer_after_a_restart() {
    let policy = Policy::builder()
        .backoff(Backoff::exponential(Span::from_secs(4), Span::from_secs(4)).unwrap())
        .unlimited_attempts()
        .deadline(Span::from_secs(10))
        .build()
        .unwrap();
    let endpoint = Endpoint { policy, ..endpoint(1) };
    let mut world = World::of(std::slice::from_ref(&endpoint));
    let mut delivery = Delivery::new(message(1), endpoint_id(1), APP, world.now);
    for number in 1..=3 {
        world.scheduler = Scheduler::new(slots(1));
        world.scheduler.put_endpoint(world.now, &endpoint, None);
        world.scheduler.add(world.now, &delivery);
        let launch = world.launch();
        assert_eq!(launch.number, number);
        delivery = world.settle(launch, answer(Ok(500))).change.delivery.unwrap();
        world.pass(Span::from_secs(4));
    }
    assert_eq!(delivery.ending, Some(DeliveryEnding::DeadlineExceeded));
}

#[test]
fn a_delivery_held_back_past_its_deadline_still_gets_its_attempt() {
    let policy = Policy::builder().deadline(Span::from_secs(60)).build().unwrap();
    let mut world = World::of(&[Endpoint { policy, ..endpoint(1) }]);
    world.add(1, [1]);
    let launch = world.launch();
    world.settle(launch, answer(Ok(500)));
    world.scheduler.disable(world.now, endpoint_id(1), Disabled::ByHand);
    world.pass(Span::from_secs(3_600));
    world.scheduler.enable(world.now, endpoint_id(1));
    let launch = world.launch();
    let delivery = world.settle(launch, answer(Ok(500))).change.delivery.unwrap();
    assert_eq!((delivery.attempts, delivery.ending), (2, Some(DeliveryEnding::DeadlineExceeded)));
}

/// A breaker that opens at the first failure, and treats throttled answers by its default.
fn touchy(probes: u32) -> Policy {
    let plan = BreakerPlan::builder().consecutive(1).probes(probes).build().expect("valid");
    let webhook = Policy::webhook();
    webhook.to_builder().breaker(plan).build().expect("valid")
}

#[test]
fn a_throttled_probe_is_not_followed_by_the_next_at_once() {
    let mut world = World::of(&[Endpoint { policy: touchy(1), ..endpoint(1) }]);
    world.add(1, 0..10);
    assert_eq!(world.fail(Ok(500)), 1);
    world.now = world.wait();
    assert_eq!(world.fail(Ok(429)), 1, "a probe a time, not one after the other");
    assert!(world.wait() >= world.now + Span::from_secs(10));
}

#[test]
fn a_probe_from_before_a_change_does_not_close_the_breaker_of_today() {
    let mut world = World::of(&[Endpoint { policy: touchy(2), ..endpoint(1) }]);
    world.add(1, 0..10);
    world.fail(Ok(500));
    world.now = world.wait();
    let first = world.launches();
    assert_eq!(first.len(), 2);
    world.settle(first[1], answer(Ok(200)));
    let longer = Endpoint { timeout: Span::from_secs(31), policy: touchy(2), ..endpoint(1) };
    world.scheduler.put_endpoint(world.now, &longer, None);
    let second = world.launches();
    assert_eq!(second.len(), 1, "the old one is still under way");
    world.settle(first[0], answer(Ok(200)));
    world.settle(second[0], answer(Ok(200)));
    assert!(world.view(1).endpoint_state.open.is_some(), "one of its two probes was good");
    let third = world.launches();
    world.settle(third[0], answer(Ok(200)));
    assert!(world.view(1).endpoint_state.open.is_none());
}

#[test]
fn an_empty_budget_holds_back_retries_and_loses_none() {
    let budget = IntervalPlan::new(1, Span::from_secs(3_600)).unwrap();
    let policy = Policy::builder().budget(budget).build().unwrap();
    let mut world = World::of(&[Endpoint { policy, ..endpoint(1) }]);
    world.add(1, 0..3);
    for launch in world.launches() {
        world.settle(launch, answer(Ok(500)));
    }
    world.pass(Span::from_secs(5));
    let retries = world.launches();
    assert_eq!(retries.len(), 1);
    world.add(1, [9]);
    let fresh = world.launches();
    assert_eq!((fresh.len(), fresh[0].message), (1, message(9)), "first attempts go on");
    let until = world.wait();
    assert_eq!(until, world.now + Span::from_secs(1), "one a second goes in any case");
    world.now = until;
    assert_eq!(world.launches().len(), 1);
}

#[test]
fn a_success_clears_what_was_held_against_an_endpoint() {
    let endpoint = Endpoint { disable_after: Span::from_secs(60), ..endpoint(1) };
    let mut world = World::of(&[endpoint]);
    for (status, seconds) in [(500, 50), (200, 50), (500, 59), (500, 1)] {
        world.add(1, [u128::from(world.now.as_nanos())]);
        let launch = world.launch();
        let disabled = world.settle(launch, answer(Ok(status))).event;
        assert_eq!(disabled, None, "it has not failed for a minute");
        world.scheduler.cancel(world.now, launch.message, launch.endpoint);
        world.pass(Span::from_secs(seconds));
    }
    world.add(1, [1]);
    let launch = world.launch();
    let disabled = OperationalEvent::EndpointDisabled(endpoint_id(1), Disabled::Failing);
    assert_eq!(world.settle(launch, answer(Ok(500))).event, Some(disabled));
}

#[test]
fn a_replay_of_many_leaves_as_after_trouble() {
    let mut world = World::of(&[endpoint(1)]);
    let endpoint_state = world.scheduler.recover(world.now, endpoint_id(1)).unwrap();
    assert_eq!(endpoint_state.recovering_since, Some(world.now));
    world.add(1, 0..1_000);
    let mut launched = 0;
    let end = world.now + Span::from_secs(1);
    while world.now < end {
        for launch in world.launches() {
            launched += 1;
            world.settle(launch, answer(Ok(200)));
        }
        world.now = world.wait();
    }
    assert!((10..=16).contains(&launched), "{launched} in the first second");
}

#[test]
fn an_endpoint_without_a_backlog_is_well_at_once() {
    let mut world = World::of(&[Endpoint { policy: touchy(1), ..endpoint(1) }]);
    world.add(1, [1]);
    world.fail(Ok(500));
    world.pass(Span::from_secs(60));
    let probe = world.launch();
    world.settle(probe, answer(Ok(200)));
    let view = world.view(1);
    assert_eq!(
        (view.endpoint_state.open, view.endpoint_state.recovering_since, view.rate),
        (None, None, None)
    );
}
