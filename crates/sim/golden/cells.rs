//! The reference tables, cell by cell, and what the lab says to each.
//!
//! Two measurements of one mean may differ by three standard errors of their difference,
//! `3 * sd * sqrt(1/runs here + 1/runs there)`, plus half a unit of the table's last digit, plus
//! what the table's own notes allow.

use stagger_sim::{
    EntryReport, Named, Shape, Shapes, ShapesReport, Stat, StormOptions, StormReport, ThreadPool,
};

/// The tables; their notes are at the top of the file.
const TABLES: &str = include_str!("reference.tsv");

/// A figure that was measured elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) table: &'static str,
    pub(crate) case: &'static str,
    pub(crate) entry: &'static str,
    pub(crate) measure: &'static str,
    /// As it is printed, so that its last digit is known.
    pub(crate) text: &'static str,
    value: f64,
    /// `None` where only the lab's own deviation is known.
    sd: Option<f64>,
    /// Without runs there is no standard error, and the slack alone decides.
    runs: Option<f64>,
    slack: f64,
}

/// A cell with the lab's figure beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) cell: Cell,
    pub(crate) found: f64,
    pub(crate) tolerance: f64,
}

/// All cells, in the order of the file.
pub(crate) fn cells() -> impl Iterator<Item = Cell> {
    TABLES.lines().filter(|line| !line.starts_with('#')).skip(1).map(Cell::read)
}

impl Cell {
    fn read(line: &'static str) -> Self {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_else(|| panic!("eight fields in {line:?}"));
        let [table, case, entry, measure, text] = [(); 5].map(|()| next());
        let number = |text: &str| text.parse::<f64>().ok();
        let (sd, runs, slack) = (next(), next(), next());
        Self {
            table,
            case,
            entry,
            measure,
            text,
            value: number(text).unwrap_or_else(|| panic!("a figure in {line:?}")),
            sd: if sd == "own" { None } else { Some(number(sd).unwrap_or(0.0)) },
            runs: number(runs),
            slack: number(slack).unwrap_or(0.0),
        }
    }

    /// Compares the lab's figure, the mean of `runs` runs whose deviation was `sd`.
    pub(crate) fn judge(self, found: f64, sd: f64, runs: f64) -> Verdict {
        let spread = match (self.runs, self.measure) {
            (None, _) => 0.0,
            // So many of so many runs: the deviation of a share, both samples taken together and
            // one success and one failure added, so that "none of ten" is not taken for "never".
            (Some(there), "stuck") => {
                let share = (self.value + found * there / runs + 1.0) / (2.0 * there + 2.0);
                3.0 * (share * (1.0 - share) * (1.0 / runs + 1.0 / there)).sqrt() * there
            }
            (Some(there), _) => {
                let error = |sd: f64| sd * (1.0 / runs + 1.0 / there).sqrt();
                match self.sd {
                    Some(theirs) => 3.0 * error(theirs.max(sd)),
                    None => student(runs) * error(sd),
                }
            }
        };
        // Figures of counts are compared for as many runs as the table has.
        let found = match (self.runs, self.measure) {
            (Some(there), "stuck") => found * there / runs,
            _ => found,
        };
        Verdict { cell: self, found, tolerance: spread + self.digit() / 2.0 + self.slack }
    }

    /// One unit of the last digit that is printed.
    fn digit(&self) -> f64 {
        let decimals = self.text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        (0..decimals).fold(1.0, |digit, _| digit / 10.0)
    }
}

/// Standard errors that a mean of `runs` runs strays at most, as seldom as three where the deviation
/// is known: it is known from those runs alone (Student's distribution, to some per cent).
fn student(runs: f64) -> f64 {
    3.0 + 12.0 / (runs - 1.0).max(1.0)
}

impl Verdict {
    /// Whether the lab agrees.
    pub(crate) fn is_within(&self) -> bool {
        // A rounding error of the last bit must not decide.
        (self.found - self.cell.value).abs() <= self.tolerance + 1e-9
    }
}

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
