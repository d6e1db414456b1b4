//! The checksums of whole runs: the same on any machine, with any queue, after any restructuring.
//!
//! A digest folds every event of a run, in order. One that changes means that the lab's numbers have
//! changed: say so where the change is made, and write the new one here.

mod plans;

use std::thread;

use stagger_sim::Simulation;

/// Events and digest of each plan under seed 42.
const DIGESTS: [(&str, u64, u64); 11] = [
    ("model P", 11_246, 0x644b_e4eb_9a41_bf95),
    ("stall", 43_066, 0xc7f1_b61b_d714_cef5),
    ("hopeless dropped", 14_088, 0xc22c_593c_0869_7f77),
    ("newest first", 13_675, 0x4f7d_245f_fe00_57fb),
    ("far away", 72_781, 0x64e5_a7a4_e91f_d334),
    ("hedged", 6_573, 0x6856_fc68_ac41_c5ea),
    ("layers", 37_234, 0x61bf_bb93_5714_5b2b),
    ("throttled", 9_473, 0xa166_6876_c93d_4528),
    ("processes", 4_301, 0xc96c_71e8_9d82_7c1f),
    ("closed", 3_146, 0x1a7b_cc48_4d64_96b9),
    ("hang", 3_944, 0xedd2_797a_9c84_5e08),
];

#[test]
fn no_run_has_moved() {
    let found = digests();
    assert_eq!(found, DIGESTS, "{found:#018x?}");
}

#[test]
fn no_run_depends_on_the_thread_that_plays_it() {
    thread::scope(|scope| {
        for thread in [(); 5].map(|()| scope.spawn(digests)) {
            assert_eq!(thread.join().expect("it plays"), DIGESTS);
        }
    });
}

/// All plans in one simulation, which keeps its memory from one to the next.
fn digests() -> Vec<(&'static str, u64, u64)> {
    let mut simulation = Simulation::new();
    let all = plans::all().into_iter().map(|(name, plan)| {
        let played = simulation.play(&plan, 42);
        (name, played.events, played.digest)
    });
    all.collect()
}
