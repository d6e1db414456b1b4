//! The row of what was observed.

use stagger_core::{Instant, Span};
use stagger_sim::{BUCKET, Healing, Row, RowSeries, Stat, Strip};

use crate::cells::Cell;
use crate::replay::Scene;

/// Buckets in a second.
const PER_SECOND: f64 = 20.0;
/// The name of the row that was observed and not played: a log is one run, however many are played.
pub const OBSERVED: &str = "observed";

/// Buckets that are kept for pictures, as many as the lab keeps of its runs.
const KEPT: usize = 4096;

/// What the log shows of the stretch that is replayed. Latency, wasted work and queues cannot be
/// seen in a log of attempts: they are left empty.
pub(crate) fn row(scene: &Scene<'_>) -> Row {
    let cells = scene.cells();
    let all = Cell::sum(cells);
    let calls = f64::from(all.firsts);
    let share = |part: f64| if calls > 0.0 { part / calls } else { 0.0 };
    let stat = |mean| Stat { mean, sd: 0.0 };
    // As in the lab: from the end of the outage on.
    let after = scene.edge().map_or(cells, |edge| scene.log.cells.within(edge, scene.until));
    let peak = |count: fn(&Cell) -> u32| {
        stat(f64::from(after.iter().map(count).max().unwrap_or(0)) * PER_SECOND)
    };
    let recovered = recovered(scene);
    Row {
        name: OBSERVED.to_owned(),
        runs: 1,
        calls,
        attempts: stat(f64::from(all.attempts)),
        peak: peak(|cell| cell.attempts),
        worst_over_mean: None,
        peak_retries: peak(|cell| cell.attempts - cell.firsts),
        amplification: share(f64::from(all.attempts)),
        // A call is served once at most, and what came from before the stretch may be among it.
        success: share(f64::from(all.attempts - all.bad())).min(1.0),
        wasted: 0.0,
        recovery: Healing {
            healed: u64::from(recovered.is_some()),
            seconds: stat(recovered.unwrap_or_default().as_secs_f64()),
            ..Healing::default()
        },
        latency: [None; 3],
        queued_most: Stat::default(),
        series: series(&cells[..cells.len().min(KEPT)]),
        strip: Strip::default(),
        events: 0,
        digest: 0,
    }
}

fn series(cells: &[Cell]) -> RowSeries {
    let each = |count: fn(&Cell) -> u32| cells.iter().map(|cell| f64::from(count(cell))).collect();
    let range = |cell: &Cell| (u64::from(cell.attempts), u64::from(cell.attempts));
    RowSeries {
        offered: each(|cell| cell.attempts),
        offered_range: cells.iter().map(range).collect(),
        retries: each(|cell| cell.attempts - cell.firsts),
        served: each(|cell| cell.attempts - cell.bad()),
        ..RowSeries::default()
    }
}

/// The rule that the runs are measured by, on the log's own first attempts.
fn recovered(scene: &Scene<'_>) -> Option<Span> {
    let edge = scene.edge()?;
    let (bucket, row, share) = scene.recovery();
    let count = (scene.until - edge).as_nanos() / bucket.as_nanos().max(BUCKET.as_nanos());
    let is_good = |number: u64| {
        let from: Instant = edge + bucket.saturating_mul(number);
        let sum = Cell::sum(scene.log.cells.within(from, from + bucket));
        sum.firsts > 0 && crate::cells::share(sum.firsts_served, sum.firsts) >= share
    };
    let good: Vec<bool> = (0..count).map(is_good).collect();
    let start = good.windows(row as usize).position(|row| row.iter().all(|&good| good))?;
    Some(bucket.saturating_mul(start as u64))
}
