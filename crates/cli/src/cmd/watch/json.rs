//! Reports for programs: an object a line.

use serde_json::{Value, json};
use stagger_watch::{StormVerdict, TopSource, WatchEvent};

use super::figures::WatchFigures;

/// The line of an event, with its end.
pub(super) fn event(event: &WatchEvent) -> String {
    let object = match event {
        WatchEvent::Began(storm) => verdict("storm-began", storm),
        WatchEvent::Continues(storm) => verdict("storm-continues", storm),
        WatchEvent::Ended(summary) => json!({
            "event": "storm-ended",
            "began": summary.began.to_string(),
            "ended": summary.ended.to_string(),
            "worst_attempts_a_call": rounded(summary.worst),
        }),
    };
    format!("{object}\n")
}

/// The line of the counts at the end.
pub(super) fn end(figures: &WatchFigures) -> String {
    let totals = figures.totals.unwrap_or_default();
    let object = json!({
        "event": "end",
        "storms": figures.storms,
        "lines": figures.lines,
        "malformed": figures.malformed,
        "attempts": totals.attempts,
        "out_of_time": totals.out_of_time,
        "jumps": totals.jumps,
    });
    format!("{object}\n")
}

fn verdict(event: &str, storm: &StormVerdict) -> Value {
    let (estimate, layers) = (&storm.estimate, &storm.layers);
    json!({
        "event": event,
        "until": storm.until.to_string(),
        "window_s": storm.seconds,
        "attempts": rounded(estimate.attempts),
        "calls": rounded(estimate.calls),
        "retries": rounded(estimate.retries()),
        "attempts_a_call": rounded(estimate.attempts_a_call()),
        "attempts_a_call_at_least": rounded(estimate.at_least()),
        "evidence": estimate.evidence.word(),
        "callers_followed_one_in": storm.one_in,
        "failing": storm.failing.map(rounded),
        "layers": {
            "further_out": layers.further_out.map(rounded),
            "callers": layers.callers.map(rounded),
            "proxy": layers.proxy.map(rounded),
            "multiplying": layers.multiplying().into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
        },
        "synchrony": storm.synchrony.map(|synchrony| json!({
            "dispersion": rounded(synchrony.dispersion),
            "threshold": rounded(synchrony.threshold),
            "peak_over_mean": rounded(synchrony.peak),
            "synchronous": synchrony.is_synchronous(),
        })),
        "clients": sources(&storm.clients),
        "routes": sources(&storm.routes),
        "budget": storm.budget.map(|budget| json!({
            "ratio": budget.ratio,
            "calls_a_second": rounded(budget.calls),
            "retries_a_second": rounded(budget.retries),
            "allowed_a_second": budget.allowed().map(rounded),
            "most_served_a_second": rounded(budget.most_served),
        })),
    })
}

fn sources(sources: &[TopSource]) -> Value {
    let named = sources.iter().map(|source| {
        json!({
            "name": source.name,
            "share": rounded(source.share),
            "share_at_least": rounded(source.at_least),
        })
    });
    named.collect()
}

/// Three decimals: the figures do not carry more.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}
