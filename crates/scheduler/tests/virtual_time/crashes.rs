//! Crashes between any two effects, under random receivers, settings and people.

use std::num::NonZeroU32;

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, TokenPlan, WindowPlan};
use stagger_core::{Backoff, HintRule, LongHint, Policy, Ratio, Span};
use stagger_scheduler::model::{
    ApplicationId, DeliveryState, Endpoint, EndpointId, Pace, Recovery, Statuses,
};
use uuid::Uuid;

use crate::fixture::{endpoint, slots};
use crate::receiver::Behaviour;
use crate::world::World;

/// Worlds in one test run: some seconds.
const SEEDS: u64 = 3_000;

/// The virtual time in which every delivery must have ended once all servers have recovered.
const LONG_ENOUGH: Span = Span::from_secs(30 * 24 * 60 * 60);

fn application(n: u128) -> ApplicationId {
    ApplicationId::from_uuid(Uuid::from_u128(n))
}

fn pick<T: Copy>(world: &mut World, from: &[T]) -> T {
    let place = world.below(from.len() as u64);
    from[usize::try_from(place).expect("a place in a list")]
}

fn policy(world: &mut World) -> Policy {
    let base = pick(world, &[50, 400, 3_000]);
    let cap = Span::from_millis(base * 20);
    let max = Span::from_secs(pick(world, &[1, 20, 60]));
    let long = pick(
        world,
        &[LongHint::Stop, LongHint::Shorten, LongHint::OwnDelayPlus(Span::from_secs(3))],
    );
    let budget = pick(
        world,
        &[
            BudgetPlan::Unlimited,
            BudgetPlan::Unlimited,
            BudgetPlan::Window(WindowPlan::default()),
            BudgetPlan::Tokens(TokenPlan::aws_2_0()),
            BudgetPlan::None,
        ],
    );
    let mut builder = Policy::builder()
        .backoff(Backoff::exponential(Span::from_millis(base), cap).expect("within its bounds"))
        .max_attempts(pick(world, &[1, 2, 4, 8]))
        .hints(HintRule::new(max, Ratio::from_percent(50), long).expect("within its bounds"))
        .budget(budget);
    if world.below(4) == 0 {
        builder = builder.deadline(Span::from_secs(pick(world, &[5, 60])));
    }
    if world.below(2) == 0 {
        let plan = BreakerPlan::builder()
            .consecutive(pick(world, &[1, 3]))
            .open_time(Span::from_secs(pick(world, &[1, 10])))
            .probes(pick(world, &[1, 2]))
            .ramp(Ratio::from_percent(10), Span::from_secs(5));
        builder = builder.breaker(plan.build().expect("within its bounds"));
    }
    builder.build().expect("within its bounds")
}

fn settings(world: &mut World, id: u128) -> Endpoint {
    let recovery = Recovery {
        from: Ratio::from_percent(pick(world, &[0, 10, 100])),
        rate: NonZeroU32::new(pick(world, &[1, 20, 500])).expect("within its bounds"),
        over: Span::from_secs(pick(world, &[0, 1, 10])),
    };
    let rate = pick(world, &[None, None, NonZeroU32::new(2), NonZeroU32::new(37)]);
    let pace = Pace { concurrency: slots(pick(world, &[1, 2, 5])), rate, recovery };
    Endpoint {
        application: application(1 + id % 2),
        policy: policy(world),
        timeout: Span::from_secs(pick(world, &[1, 5])),
        pace,
        ordered: world.below(4) == 0,
        permanent: Statuses::try_from(vec![422]).expect("within its bounds"),
        disable_after: Span::from_secs(pick(world, &[20, 3_600])),
        ..endpoint(id)
    }
}

fn someone(world: &mut World) -> Option<EndpointId> {
    let endpoints = world.endpoints();
    (!endpoints.is_empty()).then(|| pick(world, &endpoints))
}

/// An operator's action: on an endpoint, or on the settings.
fn act(world: &mut World) {
    let Some(id) = someone(world) else { return };
    match world.below(100) {
        0..50 => {
            for _ in 0..world.below(12) {
                world.accept(id);
            }
        }
        50..56 => world.replay(id),
        56..62 => {
            let open: Vec<_> = world.open().into_iter().collect();
            if !open.is_empty() {
                let (endpoint, message) = pick(world, &open);
                world.cancel(endpoint, message);
            }
        }
        62..69 => world.enable(id),
        69..72 => world.disable(id),
        72..90 => {
            let behaviour = pick(world, &Behaviour::ALL);
            world.sites.get_mut(&id).expect("it is there").behaviour = behaviour;
        }
        90..96 => {
            let settings = settings(world, id.as_uuid().as_u128());
            world.put_endpoint(settings);
        }
        96..98 => {
            let (app, slots) = (pick(world, &[1, 2]), pick(world, &[1, 4, 9]));
            world.put_application(application(app), slots);
        }
        98 => world.remove_endpoint(id),
        _ => world.crash(),
    }
}

/// All servers are well and all endpoints enabled, until nothing is left to do. Twice, because answers
/// from before may still disable an endpoint.
fn calm_down(world: &mut World) {
    for _ in 0..2 {
        for id in world.endpoints() {
            world.sites.get_mut(&id).expect("it is there").behaviour = Behaviour::Well;
            world.enable(id);
        }
        let end = world.now + LONG_ENOUGH;
        while world.step(end) {}
    }
    assert!(world.is_quiet() && world.len() == 0, "{} deliveries are stuck", world.len());
}

fn live(seed: u64) -> World {
    let mut world = World::new(seed, 7);
    for app in [1, 2] {
        world.put_application(application(app), 4);
    }
    for id in 0..4 {
        let settings = settings(&mut world, id);
        world.put_endpoint(settings);
    }
    for _ in 0..40 {
        act(&mut world);
        let span = Span::from_millis(pick(&mut world, &[0, 1, 300, 2_000, 20_000]));
        let until = world.now + span;
        while world.step(until) {
            if world.below(400) == 0 {
                world.crash();
            }
        }
    }
    calm_down(&mut world);
    world
}

#[test]
fn no_crash_loses_a_message_or_breaks_a_promise() {
    let (mut crashes, mut attempts, mut ended) = (0, 0, [0_u64; DeliveryState::ALL.len()]);
    for seed in 0..SEEDS {
        let world = std::panic::catch_unwind(|| live(seed));
        let world = world.unwrap_or_else(|_| panic!("the world of seed {seed} broke a promise"));
        crashes += u64::from(world.crashes);
        attempts += world.attempts;
        for delivery in world.durable.deliveries.values() {
            assert!(!delivery.state.is_open(), "{delivery:?} was lost, seed {seed}");
            ended[delivery.state as usize] += 1;
        }
    }
    println!("{SEEDS} worlds, {crashes} crashes, {attempts} attempts, ended as {ended:?}");
    assert!(crashes > SEEDS && attempts > 50 * SEEDS, "the worlds were too quiet to prove much");
    assert!(ended[2..].iter().all(|count| *count > SEEDS), "every end was reached");
}
