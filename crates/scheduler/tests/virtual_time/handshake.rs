//! Endpoints that want a handshake: held back without consent, and paced by the rate that they have granted.

use std::num::NonZeroU32;

use stagger_core::Span;
use stagger_scheduler::model::{AttemptAnswer, AttemptFailure, Endpoint, HandshakeResult};

use stagger_testkit::lowest;

use crate::cases::World;
use crate::fixture::{answer, at, endpoint, endpoint_id};

fn wanting(n: u128) -> Endpoint {
    Endpoint { handshake: true, ..endpoint(n) }
}

fn granted(rate: u32) -> AttemptAnswer {
    let handshake = Some(HandshakeResult::Granted { rate: NonZeroU32::new(rate) });
    AttemptAnswer { handshake, ..answer(Ok(200)) }
}

fn refused() -> AttemptAnswer {
    let handshake = Some(HandshakeResult::Refused { status: Some(405) });
    AttemptAnswer { handshake, ..answer(Err(AttemptFailure::Handshake)) }
}

#[test]
fn a_refused_handshake_was_an_attempt_or_was_repeated_without_a_pause() {
    let mut world = World::of(&[wanting(1), endpoint(2)]);
    world.add(1, 0..5);
    let mut waits = Vec::new();
    for _ in 0..9 {
        let launches = world.launches();
        assert_eq!(launches.len(), 1, "one asks for all of them");
        assert_eq!((launches[0].number, launches[0].retry), (1, false));
        let settled = world.scheduler.settle(world.now, launches[0], refused(), &mut lowest());
        let change = settled.expect("the endpoint's state").change;
        assert_eq!((change.delivery, change.attempt), (None, None));
        let wait = world.wait() - world.now;
        waits.push(wait);
        world.pass(wait);
    }
    let secs = [10, 20, 40, 80, 160, 320, 600, 600, 600].map(Span::from_secs);
    assert_eq!(waits, secs);
    let view = world.scheduler.view(world.now, endpoint_id(1)).expect("it is there");
    let handshake = view.endpoint_state.handshake.expect("the page shows it");
    assert_eq!(handshake.result, HandshakeResult::Refused { status: Some(405) });
    assert_eq!(handshake.at, at(0), "since the first refusal");
    world.add(2, [9]);
    assert!(world.launches().iter().any(|launch| launch.endpoint == endpoint_id(2)));
}

#[test]
fn a_granted_rate_was_exceeded() {
    let mut world = World::of(&[wanting(1)]);
    world.add(1, 0..60);
    let mut sent = Vec::new();
    while sent.len() < 60 {
        for launch in world.launches() {
            sent.push(world.now);
            world.settle(launch, granted(30));
        }
        if sent.len() < 60 {
            let wait = world.wait() - world.now;
            world.pass(wait);
        }
    }
    let minute = Span::from_secs(60);
    for (n, from) in sent.iter().enumerate() {
        let within = sent[n..].iter().take_while(|to| **to - *from < minute).count();
        assert!(within <= 30, "{within} in a minute");
    }
    let view = world.scheduler.view(world.now, endpoint_id(1)).expect("it is there");
    assert_eq!(view.rate, Some(1), "what is allowed a second, rounded");
}

#[test]
fn consent_of_one_address_was_used_for_another() {
    let mut world = World::of(&[wanting(1)]);
    world.add(1, 0..40);
    let first = world.launches()[0];
    world.settle(first, granted(0));
    let together = world.launches();
    assert_eq!(together.len(), 16, "with consent, as many as its settings allow");
    let moved = Endpoint { url: "https://other.example/".into(), ..wanting(1) };
    world.scheduler.put_endpoint(world.now, &moved, None);
    let view = world.scheduler.view(world.now, endpoint_id(1)).expect("it is there");
    assert_eq!(view.endpoint_state.handshake, None);
    for launch in together {
        world.settle(launch, answer(Ok(200)));
    }
    assert_eq!(world.launches().len(), 1, "the new address is asked first");
}
