//! The lab against tables that were measured with another program and other random numbers, with
//! few runs: the full comparison is a chore of its own.

use std::num::NonZeroUsize;

use stagger_sim::ThreadPool;

#[path = "../golden/cells.rs"]
mod golden;

#[track_caller]
fn check(table: &str, percent: u32) {
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let lab = golden::Lab { percent, pool: ThreadPool::new(threads) };
    let verdicts = lab.check(table);
    assert!(!verdicts.is_empty(), "{table} has cells");
    let out: Vec<String> = verdicts
        .iter()
        .filter(|verdict| !verdict.is_within())
        .map(|verdict| {
            let golden::Cell { case, entry, measure, text, .. } = verdict.cell;
            let (found, tolerance) = (verdict.found, verdict.tolerance);
            format!("{case}, {entry}: {measure} {found:.4}, not {text} within {tolerance:.4}")
        })
        .collect();
    assert!(
        out.is_empty(),
        "{} of {} cells are out:\n{}",
        out.len(),
        verdicts.len(),
        out.join("\n")
    );
}

#[test]
fn contention() {
    check("L1", 5);
}

#[test]
fn the_tutorial_cannot_peak_as_it_claims() {
    check("L2", 20);
}

#[test]
fn lockstep() {
    check("L3", 10);
}

#[test]
fn failures_more_or_less_at_once() {
    check("L4", 25);
}

#[test]
fn steady_traffic() {
    check("L5", 8);
}

#[test]
fn a_herd_against_a_capacity() {
    check("L6", 10);
}

#[test]
fn a_retry_wave() {
    check("L7", 10);
}

#[test]
fn a_stall() {
    check("L8", 10);
}

#[test]
fn slowness_at_the_edge() {
    check("L9a", 50);
}

#[test]
fn queues_around_the_bound() {
    check("L9b", 20);
}

#[test]
fn failing_attempts() {
    check("L10", 50);
}

#[test]
fn shapes_of_laws() {
    check("L11", 30);
}
