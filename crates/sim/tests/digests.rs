//! The checksums of whole runs: the same on any machine, with any queue, after any restructuring.
//!
//! A digest folds every event of a run, in order. One that changes means that the lab's numbers have
//! changed: say so where the change is made, and write the new one here.

mod plans;

use std::thread;

use stagger_sim::World;

/// Events and digest of each plan under seed 42.
const DIGESTS: [(&str, u64, u64); 11] = [
    ("model P", 11_246, 0x644b_e4eb_9a41_bf95),
    ("stall", 43_066, 0xc7f1_b61b_d714_cef5),
    ("hopeless dropped", 14_088, 0xc22c_593c_0869_7f77),
    ("newest first", 15_594, 0xe890_519b_b9da_7169),
    ("far away", 72_781, 0xaf07_3f77_0e5d_9764),
    ("hedged", 6_609, 0x53da_97a6_e3de_0b9f),
    ("layers", 37_234, 0x2490_5cb9_0f70_a9ef),
    ("throttled", 9_473, 0x0e0a_6299_e10a_e548),
    ("processes", 4_523, 0xb901_5b3e_7961_a334),
    ("closed", 5_267, 0x4c19_5ea1_2e91_f5d6),
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

/// All plans in one world, which keeps its memory from one to the next.
fn digests() -> Vec<(&'static str, u64, u64)> {
    let mut world = World::new();
    let all = plans::all().into_iter().map(|(name, plan)| {
        let played = world.play(&plan, 42);
        (name, played.events, played.digest)
    });
    all.collect()
}
