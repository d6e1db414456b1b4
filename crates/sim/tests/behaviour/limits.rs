//! Rate limits with Retry-After, and cold starts.

use stagger_core::{Ratio, Span};
use stagger_sim::{Backend, ColdStart, Fault, Limit, Plan, Trouble};

use crate::stage::{assert_longest, at, every, fixed, ms, once, play, together};

fn limited(limit: Limit, plan: Plan) -> Plan {
    Plan { backend: Backend { limit: Some(limit), ..Backend::UNLIMITED }, ..plan }
}

#[test]
fn a_window_sends_the_others_to_the_next_ones() {
    let limit = Limit::Window { attempts: 2, window: ms(100) };
    assert_eq!(play(&limited(limit, together(5, once()))).succeeded, 2);
    // Two at 0; three told 100 ms, of which two pass; one told 100 ms more.
    let played = play(&limited(limit, together(5, fixed(1, 3))));
    assert_eq!((played.succeeded, played.attempts.total, played.length), (5, 9, ms(200)));
    assert_longest(&played, 200);
}

#[test]
fn a_bucket_lets_one_through_for_every_token() {
    let limit = Limit::Tokens { burst: 2, every: ms(10) };
    // Two at 0; two told 10 ms, of which one passes; one told 10 ms more.
    let played = play(&limited(limit, together(4, fixed(1, 3))));
    assert_eq!((played.succeeded, played.attempts.total, played.length), (4, 7, ms(20)));
}

#[test]
fn every_shard_has_a_limit_of_its_own() {
    let limit = Limit::Window { attempts: 10, window: ms(100) };
    let backend = Backend { limit: Some(limit), shards: 8, ..Backend::UNLIMITED };
    let played = play(&Plan { backend, ..together(1_000, once()) });
    assert_eq!(played.succeeded, 80);
}

#[test]
fn a_cold_backend_warms_up_after_the_start_and_after_an_outage() {
    let backend = Backend {
        cold_start: Some(ColdStart { factor: Ratio::from_percent(300), over: Span::from_secs(1) }),
        ..Backend::UNLIMITED.serving_in(ms(100))
    };
    // At 0, 500 and 1000 ms: done after 300, 200 and 100.
    let plan = Plan { backend, ..every(500, 3, once()) };
    assert_eq!(play(&plan).length, ms(1_100));
    // The outage ends at 1000 ms, so the third is as slow as the first.
    let outage = Fault::new(Trouble::Refuse, at(600), at(1_000));
    assert_eq!(play(&Plan { faults: vec![outage], ..plan }).length, ms(1_300));
}
