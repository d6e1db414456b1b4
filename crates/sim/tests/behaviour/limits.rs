//! Rate limits with Retry-After, and cold starts.

use stagger_core::{HintRule, HintScope, LongHint, Ratio, Span};
use stagger_sim::{
    Backend, CallerLayer, ColdStart, Fault, Fleet, Hop, Played, RunPlan, ServerRateLimit, Trouble,
};

use crate::fixture::{assert_longest, at, every, fixed, ms, once, play, policy, together};

fn limited(limit: ServerRateLimit, plan: RunPlan) -> RunPlan {
    RunPlan { backend: Backend { limit: Some(limit), ..Backend::UNLIMITED }, ..plan }
}

#[test]
fn a_window_sends_the_others_to_the_next_ones() {
    let limit = ServerRateLimit::Window { attempts: 2, window: ms(100) };
    assert_eq!(play(&limited(limit, together(5, once()))).succeeded, 2);
    // Two at 0; three told 100 ms, of which two pass; one told 100 ms more.
    let played = play(&limited(limit, together(5, fixed(1, 3))));
    assert_eq!((played.succeeded, played.attempts.total, played.length), (5, 9, ms(200)));
    assert_longest(&played, 200);
}

#[test]
fn a_bucket_lets_one_through_for_every_token() {
    let limit = ServerRateLimit::Tokens { burst: 2, every: ms(10) };
    // Two at 0; two told 10 ms, of which one passes; one told 10 ms more.
    let played = play(&limited(limit, together(4, fixed(1, 3))));
    assert_eq!((played.succeeded, played.attempts.total, played.length), (4, 7, ms(20)));
}

#[test]
fn every_shard_has_a_limit_of_its_own() {
    let limit = ServerRateLimit::Window { attempts: 10, window: ms(100) };
    let backend = Backend { limit: Some(limit), shards: 8, ..Backend::UNLIMITED };
    let played = play(&RunPlan { backend, ..together(1_000, once()) });
    assert_eq!(played.succeeded, 80);
}

#[test]
fn a_cold_backend_warms_up_after_the_start_and_after_an_outage() {
    let backend = Backend {
        cold_start: Some(ColdStart { factor: Ratio::from_percent(300), over: Span::from_secs(1) }),
        ..Backend::UNLIMITED.serving_in(ms(100))
    };
    // At 0, 500 and 1000 ms: done after 300, 200 and 100.
    let plan = RunPlan { backend, ..every(500, 3, once()) };
    assert_eq!(play(&plan).length, ms(1_100));
    // The outage ends at 1000 ms, so the third is as slow as the first.
    let outage = Fault::new(Trouble::Refuse, at(600), at(1_000));
    assert_eq!(play(&RunPlan { faults: vec![outage], ..plan }).length, ms(1_300));
}

/// A thousand callers of ten processes within 2 s, in which the backend answers 429 with a Retry-After
/// of 2 s.
fn throttled(scope: HintScope, change: impl Fn(&mut RunPlan)) -> Played {
    let hints = HintRule::new(Span::from_secs(60), Ratio::from_percent(50), LongHint::Stop);
    let hints = hints.expect("valid").with_scope(scope);
    let policy = policy(100, 5).to_builder().hints(hints).build().expect("valid");
    let mut plan = RunPlan {
        fleet: Fleet { processes: 10, ..Fleet::default() },
        faults: vec![Fault::new(Trouble::RefuseFor(ms(2_000)), at(0), at(2_000))],
        ..every(2, 1_000, CallerLayer::new(policy))
    };
    change(&mut plan);
    let played = play(&plan);
    assert_eq!((played.calls, played.succeeded), (1_000, 1_000));
    played
}

/// Requests within the first 2 s.
fn soon(played: &Played) -> u64 {
    played.attempts.buckets.iter().take(40).sum()
}

#[test]
fn a_hint_for_the_destination_held_no_call_but_its_own() {
    let alone = throttled(HintScope::Call, |_| {});
    assert_eq!((soon(&alone), alone.attempts.total), (1_000, 2_000));
    // The first call of each process is told, and holds the others.
    let held = throttled(HintScope::Destination, |_| {});
    assert_eq!((soon(&held), held.attempts.total), (10, 1_010));
    // They start within the spread of 1 s after the pause: 50 in a bucket of 50 ms.
    assert!((45..=60).contains(&held.attempts.buckets[45]), "{:?}", held.attempts.buckets);
}

#[test]
fn calls_that_were_on_their_way_before_the_first_answer_are_sent() {
    // 20 ms there and 20 ms back, and a call of each process every 20 ms: two are sent.
    let far = |plan: &mut RunPlan| plan.hop = Hop::Fixed(ms(20));
    assert_eq!(soon(&throttled(HintScope::Destination, far)), 20);
}

#[test]
fn processes_that_were_told_nothing_were_held() {
    let apart = |plan: &mut RunPlan| plan.fleet.processes = 1_000;
    let played = throttled(HintScope::Destination, apart);
    assert_eq!((soon(&played), played.attempts.total), (1_000, 2_000));
}
