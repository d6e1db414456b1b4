//! One figure of a reference table.

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
