//! Polly's rolling window, read back through a breaker that never opens.

use std::collections::BTreeMap;

use serde::Deserialize;
use stagger_core::breaker::{Breaker, BreakerPlan, Report};
use stagger_core::{Instant, Ratio, Span};

use super::Suite;

const FILE: &str = include_str!("../../../../vectors/breaker/polly-rolling-window.json");
/// The step of the file's `sequence`.
const STEP: Span = Span::from_secs(2);

#[derive(Deserialize)]
struct Vectors {
    /// Step to throughput, failure rate and failures.
    reads: BTreeMap<usize, (u32, f64, u32)>,
}

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let vectors: Vectors = serde_json::from_str(FILE).expect("the file is as it was copied");
    let reads = reads();
    let mut suite = Suite::new("breaker/polly-rolling-window.json");
    for (step, want) in vectors.reads {
        suite.check(format!("read {step}"), &reads[step], &want);
    }
    vec![suite]
}

/// The file's sequence: two calls, two seconds, a read, five times over; then a read on its own.
fn reads() -> Vec<(u32, f64, u32)> {
    let plan = BreakerPlan::builder()
        .window(Span::from_secs(10))
        .ratio(Ratio::ONE)
        .minimum_calls(u32::MAX)
        .build()
        .expect("within the bounds");
    let mut breaker = Breaker::new(plan);
    let mut now = Instant::ORIGIN;
    let mut reads = Vec::new();
    for step in 0..6 {
        let first = if step < 2 { Report::Failure } else { Report::Success };
        let calls = if step < 5 { &[first, Report::Success][..] } else { &[] };
        for report in calls {
            let ticket = breaker.admit(now).ticket().expect("it never opens");
            breaker.report(now, ticket, *report, &mut || 0);
        }
        now = now + STEP;
        let counts = breaker.counts(now);
        let rate = f64::from(counts.failures) / f64::from(counts.calls);
        reads.push((counts.calls, rate, counts.failures));
    }
    reads
}
