//! The report for programs: one object.

use serde_json::{Map, Value, json};
use stagger_tune::{PairedDifference, TuneReport, TuneVerdict, TunedRow};

use super::worlds::DescribedWorlds;
use crate::render::{millis, page};

/// The object: the settings, the verdict, the rows with the lowest cost first, and the policy.
pub(super) fn json(report: &TuneReport, worlds: &DescribedWorlds) -> String {
    let objective = report.options.objective;
    let verdict = match report.verdict {
        TuneVerdict::Winner => "winner",
        TuneVerdict::Choose => "choose",
        TuneVerdict::Default => "default",
    };
    let told: Map<String, Value> = worlds
        .parameters
        .iter()
        .map(|(name, value)| (name.replace(' ', "_"), Value::from(value.as_str())))
        .collect();
    page(&json!({
        "seed": report.options.seed,
        "objective": {
            "success": objective.success(),
            "deadline_ms": millis(objective.deadline()),
            "p99_ms": objective.p99().map(millis),
        },
        "worlds": told,
        "scale": report.scale,
        "candidates": report.candidates,
        "training_worlds": report.training_worlds,
        "held_out_worlds": report.held_out_worlds,
        "events": report.events,
        "verdict": verdict,
        "sentence": report.sentence(),
        "winner": report.rows[report.winner].name,
        "recommended": report.recommended().name,
        "against_default": difference(&report.against_default),
        "rows": report.rows.iter().map(row).collect::<Vec<_>>(),
        "policy": report.recommended().policy,
    }))
}

fn row(row: &TunedRow) -> Value {
    json!({
        "name": row.name,
        "reference": row.is_reference,
        "success": row.success,
        "added_load": row.added_load,
        "p99_ms": millis(row.p99),
        "miss": row.miss,
        "cost": row.cost,
        "on_front": row.on_front,
        "difference": difference(&row.difference),
        "policy": row.policy,
    })
}

fn difference(difference: &PairedDifference) -> Value {
    let (low, high) = difference.interval();
    json!({ "mean": difference.mean, "low": low, "high": high, "worlds": difference.worlds })
}
