//! Whether figures and what was seen agree, within what chance explains.

use stagger_core::Span;
use stagger_explain::{Explanation, Quantiles};

use crate::player::Seen;

/// How far a share of so many calls may be off: eight standard deviations at most.
fn slack(calls: usize) -> f64 {
    4.0 / (calls as f64).sqrt()
}

/// Compares everything that failing calls show.
#[track_caller]
pub(crate) fn agrees(figures: &Explanation, seen: &Seen) {
    let calls = seen.lasts.len();
    for row in &figures.attempts {
        let at = row.attempt as usize - 1;
        let starts = seen.starts.get(at).map_or(&[][..], Vec::as_slice);
        let reached = starts.len() as f64 / calls as f64;
        assert!((reached - row.reached).abs() <= slack(calls), "{row:?}: {reached} came so far");
        let within = row.cumulative_best..=row.cumulative_worst;
        assert!(starts.iter().all(|start| within.contains(start)), "{row:?}: a start outside");
        if starts.len() > 100 {
            mean_agrees(starts, row.cumulative_mean, *within.end() - *within.start());
        }
        // Where the deadline ends calls, the delays that are seen are those that fit.
        if at > 0 && row.reached >= 1.0 {
            let delays = &seen.delays[at - 1];
            let within = row.shortest..=row.longest;
            assert!(delays.iter().all(|delay| within.contains(delay)), "{row:?}: a delay outside");
            mean_agrees(delays, row.mean, row.longest - row.shortest);
            quantile_agrees(delays, row.p50, 0.5);
            quantile_agrees(delays, row.p99, 0.99);
        }
    }
    let Quantiles { p5, p50, .. } = figures.rides_out;
    quantile_agrees(&seen.lasts, p5, 0.05);
    quantile_agrees(&seen.lasts, p50, 0.5);
    let attempts = seen.attempts as f64 / calls as f64;
    let without = figures.load[2].without_budget;
    assert!((attempts - without).abs() <= slack(calls) * without, "{attempts} is not {without}");
    assert!(seen.lasts.iter().all(|last| *last <= figures.worst_waits));
}

#[track_caller]
fn mean_agrees(values: &[Span], mean: Span, width: Span) {
    let sum: f64 = values.iter().map(|value| value.as_secs_f64()).sum();
    let seen = sum / values.len() as f64;
    let slack = slack(values.len()) * width.as_secs_f64() + 1e-9 + mean.as_secs_f64() * 1e-9;
    assert!((seen - mean.as_secs_f64()).abs() <= slack, "a mean of {seen} s is not {mean}");
}

/// Holds also where many values are the same.
#[track_caller]
fn quantile_agrees(values: &[Span], at: Span, share: f64) {
    let part = |count: usize| count as f64 / values.len() as f64;
    let below = part(values.iter().filter(|value| **value < at).count());
    let up_to = part(values.iter().filter(|value| **value <= at).count());
    let slack = slack(values.len());
    assert!(below <= share + slack && up_to >= share - slack, "{at} parts {below}, not {share}");
}
