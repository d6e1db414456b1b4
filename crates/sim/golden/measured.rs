//! The lab's figures for the cells of a table.

use stagger_sim::{
    EntryReport, Named, Shape, Shapes, ShapesReport, Stat, StormOptions, StormReport, ThreadPool,
};

use super::{Cell, Verdict, cells};

/// A lab that plays the scenario of a table when its first cell is asked for.
pub(crate) struct Lab<'a> {
    /// Runs of a table, in per cent of its own.
    pub(crate) percent: u32,
    pub(crate) pool: ThreadPool<'a>,
}

/// A figure with its deviation and the runs behind it.
type Figure = (f64, f64, f64);

impl Lab<'_> {
    /// Every cell of this table.
    pub(crate) fn check(&self, table: &str) -> Vec<Verdict> {
        let cells = cells().filter(|cell| cell.table == table);
        if table == "L11" {
            let runs = (20 * self.percent).div_ceil(100).max(2);
            let shapes = Shapes { runs, ..Shapes::default() };
            let report = shapes.run(&self.pool).expect("the default schedule is valid");
            let runs = f64::from(runs);
            return cells.map(|cell| judge(cell, shape_figure(&report, &cell, runs))).collect();
        }
        let named = Named::find(table).unwrap_or_else(|| panic!("a scenario reproduces {table}"));
        let runs = (runs(table) * self.percent).div_ceil(100).max(2);
        let options = StormOptions { runs: Some(runs), ..StormOptions::default() };
        let report = named.scenario(&options).expect("its own schedule is valid").run(&self.pool);
        cells.map(|cell| judge(cell, figure(row(&report, &cell), cell.measure))).collect()
    }
}

/// Runs that a full comparison takes: about as many as the table has, where that is a matter of
/// minutes.
fn runs(table: &str) -> u32 {
    match table {
        "L1" | "L4" => 400,
        "L2" | "L3" => 1_000,
        "L5" => 200,
        "L7" | "L8" => 20,
        "L9b" | "L6" => 50,
        _ => 10,
    }
}

fn judge(cell: Cell, (found, sd, runs): Figure) -> Verdict {
    cell.judge(found, sd, runs)
}

fn row<'r>(report: &'r StormReport, cell: &Cell) -> &'r EntryReport {
    let case = report.cases.iter().find(|case| case.label == cell.case);
    let row = case.and_then(|case| case.rows.iter().find(|row| row.name == cell.entry));
    row.unwrap_or_else(|| panic!("{}: a row for {} in {}", cell.table, cell.entry, cell.case))
}

#[allow(clippy::cast_precision_loss, reason = "a few runs")]
fn figure(row: &EntryReport, measure: &str) -> Figure {
    let runs = row.runs as f64;
    let healed = row.recovery.healed as f64;
    let of = |stat: Stat, runs: f64| (stat.mean, stat.sd, runs);
    match measure {
        "peak" => of(row.peak, runs),
        "peak_retries" => of(row.peak_retries, runs),
        "attempts" => of(row.attempts, runs),
        "queue" => of(row.queued_most, runs),
        "seconds" if healed > 0.0 => of(row.recovery.seconds, healed),
        "seconds" => (f64::INFINITY, 0.0, runs),
        "stuck" => (runs - healed, 0.0, runs),
        "amplification" => (row.amplification, 0.0, runs),
        "load" => (row.amplification * 100.0, 0.0, runs),
        "success" => (row.success * 100.0, 0.0, runs),
        "wasted" => (row.wasted * 100.0, 0.0, runs),
        other => panic!("no measure is called {other}"),
    }
}

fn shape_figure(report: &ShapesReport, cell: &Cell, runs: f64) -> Figure {
    let is = |shape: Shape| shape.to_string() == cell.entry;
    let retry = cell.case.strip_prefix("retry ").map(|k| k.parse().expect("a number"));
    let mean = || report.means.iter().find(|mean| is(mean.shape)).expect("drawn");
    let growth = || {
        let mut rows = report.growth.iter();
        rows.find(|row| is(row.shape) && row.retry == retry).expect("drawn")
    };
    let wave = || {
        let mut rows = report.waves.iter();
        let bucket = cell.case.strip_prefix("wave in ").expect("a wave has a bucket");
        let found = rows.find(|row| is(row.shape) && row.bucket.to_string() == bucket);
        found.expect("counted").over_flat
    };
    match cell.measure {
        "mean of ceiling" => (mean().of_ceiling, 0.0, runs),
        "share at zero" => (mean().at_zero, 0.0, runs),
        "mean of base" => (growth().of_base, 0.0, runs),
        "share at cap" => (growth().at_cap, 0.0, runs),
        "peak over flat" => (wave().mean, wave().sd, runs),
        other => panic!("no measure is called {other}"),
    }
}
