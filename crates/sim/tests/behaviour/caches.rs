//! Caches that lose what they hold: against the formulas of how they fill, and a loop in steps of a millisecond.

use stagger_core::Ratio;
use stagger_sim::{
    ArrivalProcess, AttemptEnd, Backend, Cache, CacheFill, Crash, Fault, PlayedAttempt, RunPlan,
    Trouble, Workers,
};

use crate::fixture::{at, every, fixed, ms, once, play};

fn backend(workers: u32, cache: Cache) -> Backend {
    let rules = Workers { cache: Some(cache), ..Workers::new(workers, None) };
    Backend { workers: Some(rules), ..Backend::UNLIMITED.serving_in(ms(1)) }
}

const KEYS: Cache =
    Cache { keys: 1_000, miss: ms_const(20), lifetime: None, fill: CacheFill::Answered };

const fn ms_const(ms: u64) -> stagger_core::Span {
    stagger_core::Span::from_millis(ms)
}

/// Calls that missed, of those that began in this stretch.
fn misses(plan: &RunPlan, from: u64, until: u64) -> usize {
    let (_, attempts) = PlayedAttempt::of_run(plan, 1);
    let own = attempts.iter().filter(|it| at(from) <= it.began && it.began < at(until));
    own.filter(|it| it.ended - it.began >= ms(20)).count()
}

#[test]
fn an_emptied_cache_fills_as_its_formula_does() {
    let flush = Fault::new(Trouble::Flush(Ratio::ONE), at(1_000), at(1_000));
    let backend = backend(1_000, KEYS);
    let plan = RunPlan { backend, faults: vec![flush], ..every(1, 6_000, once()) };
    assert_eq!(misses(&plan, 0, 1_000), 0);
    // K (1 - exp(-calls / K)) of the calls miss; each takes 21 ms to fill, which is 2 % of the first second.
    for (until, seconds) in [(2_000, 1.0), (3_000, 2.0), (6_000, 5.0)] {
        let expected = 1_000.0 * (1.0 - libm::exp(-seconds)) + 20.0;
        let found = misses(&plan, 1_000, until);
        let found = f64::from(u32::try_from(found).expect("small"));
        assert!((found - expected).abs() < 60.0, "{found}, not {expected}");
    }
}

#[test]
fn a_share_of_a_cache_is_lost_and_not_all_of_it() {
    let flush = Fault::new(Trouble::Flush(Ratio::from_percent(30)), at(1_000), at(1_000));
    let plan =
        RunPlan { backend: backend(1_000, KEYS), faults: vec![flush], ..every(1, 9_000, once()) };
    let found = misses(&plan, 0, 9_000);
    assert!(found.abs_diff(306) < 60, "{found}");
}

#[test]
fn entries_that_expire_leave_as_many_hits_as_their_formula_has() {
    // calls * lifetime / (keys + calls * lifetime): 1000 calls a second, 4 s, 1000 keys.
    let cache = Cache { lifetime: Some(ms(4_000)), ..KEYS };
    let plan = RunPlan { backend: backend(1_000, cache), ..every(1, 60_000, once()) };
    let found = misses(&plan, 20_000, 60_000);
    assert!(found.abs_diff(8_000) < 400, "{found}, not a fifth of 40 000");
}

/// Ten workers under calls every 2 ms whose cache is emptied after 5 s; served after 30 s, of 10 000.
fn served(spacing: u64, attempts: u32, fill: CacheFill) -> u64 {
    let cache = Cache { keys: 2_000, miss: ms(99), lifetime: None, fill };
    let rules = Workers { cache: Some(cache), ..Workers::new(10, None) };
    let backend = Backend { workers: Some(rules), ..Backend::UNLIMITED.serving_in(ms(1)) };
    let flush = Fault::new(Trouble::Flush(Ratio::ONE), at(5_000), at(5_000));
    let callers = u32::try_from(50_000 / spacing).expect("small");
    let caller = fixed(100, attempts).with_timeout(ms(500));
    let plan = RunPlan { backend, faults: vec![flush], ..every(spacing, callers, caller) };
    let (_, attempts) = PlayedAttempt::of_run(&plan, 1);
    let late = attempts.iter().filter(|it| it.end == AttemptEnd::Served && it.began >= at(30_000));
    late.count() as u64
}

#[test]
fn a_cold_cache_that_callers_fill_stays_cold_under_a_load_that_it_served_before() {
    // Cold, ten workers serve 100 a second of 500: the queue outgrows the timeout, no answer finds its caller,
    // and so none is put in.
    assert!(served(2, 1, CacheFill::Answered) < 100);
    // A server that fills it itself is warm again, however late its answers are.
    assert!(served(2, 1, CacheFill::Worked) > 5_000);
    // And so is one whose load is below its cold capacity.
    assert!(served(12, 1, CacheFill::Answered) > 1_600);
}

#[test]
fn the_same_cold_cache_in_a_loop_of_milliseconds() {
    // The oldest of the queue first, ten workers, and a share of hits that grows by its mean.
    let mut queue = std::collections::VecDeque::new();
    let mut busy: Vec<(u64, u64, bool)> = Vec::new();
    let (mut held, mut late) = (2_000.0_f64, 0_u64);
    let mut word = 1_u64;
    for now in 0..60_000_u64 {
        if now == 5_000 {
            held = 0.0;
        }
        busy.retain(|&(end, came, miss)| {
            if end == now {
                held += f64::from(u8::from(miss));
                late += u64::from(came >= 30_000 && now - came <= 500);
            }
            end != now
        });
        if now < 50_000 && now % 2 == 0 {
            queue.push_back(now);
        }
        while busy.len() < 10 {
            let Some(came) = queue.pop_front() else { break };
            word = word
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let drawn = f64::from(u32::try_from(word >> 32).expect("32 bits")) / 4_294_967_296.0;
            let miss = drawn * 2_000.0 >= held;
            busy.push((now + if miss { 100 } else { 1 }, came, miss));
        }
    }
    let found = served(2, 1, CacheFill::Worked);
    assert!(found.abs_diff(late) < 500, "{found}, not {late}");
}

#[test]
fn a_crash_and_a_closed_port_empty_the_cache() {
    let closed = Fault::new(Trouble::PortClosed, at(1_000), at(1_100));
    let plan =
        RunPlan { backend: backend(1_000, KEYS), faults: vec![closed], ..every(1, 2_000, once()) };
    assert_eq!(misses(&plan, 0, 1_000), 0);
    let found = misses(&plan, 1_100, 2_000);
    assert!(found.abs_diff(610) < 60, "{found}");
    // 100 at once are one too many for a server that warms up again afterwards.
    let mut crashing = backend(50, KEYS);
    let rules = crashing.workers.as_mut().expect("it has workers");
    rules.crash = Some(Crash { at: 100, restart: ms(100) });
    let burst =
        ArrivalProcess::Spread { callers: 100, from: at(1_000), over: stagger_core::Span::ZERO };
    let mut plan = RunPlan { backend: crashing, ..every(1, 2_000, once()) };
    plan.arrivals.push(burst);
    let played = play(&plan);
    assert!(played.calls - played.succeeded >= 195, "{}", played.succeeded);
    assert!(misses(&plan, 1_200, 2_000) > 400);
}
