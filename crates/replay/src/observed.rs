//! The row of what was observed.

use stagger_core::{Instant, Span};
use stagger_sim::{
    BUCKET, EntryReport, EntrySeries, FirstTries, Healing, KEPT_BUCKETS, RecoveryState, Stat, Strip,
};

use crate::cells::BucketCounts;
use crate::excerpt::Excerpt;

/// Buckets in a second.
const PER_SECOND: f64 = 20.0;

/// The name of the row that was observed and not played: a log is one run, however many are played.
pub const OBSERVED: &str = "observed";

/// The row of the log itself, for the stretch that is replayed. Latency, wasted work and queues cannot be
/// seen in a log of attempts: they are left empty.
pub(crate) fn row(excerpt: &Excerpt<'_>) -> EntryReport {
    let cells = excerpt.cells();
    let all = BucketCounts::sum(cells);
    let calls = f64::from(all.firsts);
    let share = |part: f64| if calls > 0.0 { part / calls } else { 0.0 };
    let stat = |mean| Stat { mean, sd: 0.0 };
    // As in the lab: from the end of the outage on.
    let after = excerpt.log.cells.within(excerpt.edge(), excerpt.until);
    let peak = |count: fn(&BucketCounts) -> u32| {
        stat(f64::from(after.iter().map(count).max().unwrap_or(0)) * PER_SECOND)
    };
    EntryReport {
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
        recovery: healing(verdict(excerpt)),
        latency: [None; 3],
        queued_most: Stat::default(),
        series: series(&cells[..cells.len().min(KEPT_BUCKETS)]),
        strip: Strip::of((0..).zip(instants(cells))),
        events: 0,
        digest: 0,
    }
}

/// Instants for the attempts of each bucket, spread evenly over it: a log's retries are kept as counts.
fn instants(cells: &[BucketCounts]) -> impl Iterator<Item = Instant> + '_ {
    (0..).zip(cells).flat_map(|(number, cell)| {
        let begin = Instant::ORIGIN + BUCKET.saturating_mul(number);
        let step = BUCKET.as_nanos() / u64::from(cell.attempts.max(1));
        (0..cell.attempts).map(move |nth| begin + Span::from_nanos(step * u64::from(nth)))
    })
}

fn series(cells: &[BucketCounts]) -> EntrySeries {
    let each =
        |count: fn(&BucketCounts) -> u32| cells.iter().map(|cell| f64::from(count(cell))).collect();
    let range = |cell: &BucketCounts| (u64::from(cell.attempts), u64::from(cell.attempts));
    EntrySeries {
        offered: each(|cell| cell.attempts),
        offered_range: cells.iter().map(range).collect(),
        retries: each(|cell| cell.attempts - cell.firsts),
        served: each(|cell| cell.attempts - cell.bad()),
        ..EntrySeries::default()
    }
}

/// The verdict on the log's own first attempts, by the rule of the replayed runs.
fn verdict(excerpt: &Excerpt<'_>) -> RecoveryState {
    let edge = excerpt.edge();
    let mut tries = FirstTries::new(edge, excerpt.recovery());
    for (number, cell) in (0..).zip(excerpt.log.cells.within(edge, excerpt.until)) {
        let at = edge + BUCKET.saturating_mul(number);
        tries.count(at, cell.firsts.into(), cell.firsts_served.into());
    }
    tries.verdict()
}

/// The verdict on the one run that a log is.
fn healing(verdict: RecoveryState) -> Healing {
    let seconds = |after: Span| Stat { mean: after.as_secs_f64(), sd: 0.0 };
    match verdict {
        RecoveryState::Recovered(after) => {
            Healing { healed: 1, seconds: seconds(after), ..Healing::default() }
        }
        RecoveryState::Relapsed(_) => Healing { relapsed: 1, ..Healing::default() },
        RecoveryState::NotWithinWatch => Healing { not_within_watch: 1, ..Healing::default() },
        RecoveryState::TroubleLasts => Healing { trouble_lasts: 1, ..Healing::default() },
        RecoveryState::Never => Healing::default(),
    }
}
