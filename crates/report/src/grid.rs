//! Two varied values and what came of every pair of them, for a heat map.

/// The results of every pair of two varied values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatGrid {
    /// The quantity along the bottom, with its unit: `outage [s]`.
    pub x: String,
    /// Its values, from left to right.
    pub xs: Vec<String>,
    /// The quantity up the side, with its unit: `load [1/s]`.
    pub y: String,
    /// Its values, from the bottom up.
    pub ys: Vec<String>,
    /// The settings that every cell shares.
    pub parameters: Vec<(String, String)>,
    /// The seed of all runs.
    pub seed: u64,
    /// Runs behind every cell.
    pub runs: u32,
    /// One panel an entry.
    pub panels: Vec<GridPanel>,
}

/// The cells of one entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridPanel {
    /// The entry's name.
    pub name: String,
    /// The case of the panel, if an entry has several panels; else empty.
    pub case: String,
    /// Row by row, the row of the first `ys` first; `None` where nothing was played, or
    /// no verdict was possible.
    pub cells: Vec<Option<Healed>>,
}

/// The runs of a cell that healed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Healed {
    /// Runs that recovered.
    pub healed: u64,
    /// Runs played.
    pub runs: u64,
}

impl GridPanel {
    /// Its name as a heading: the entry, and the case where it has several panels.
    #[must_use]
    pub fn title(&self) -> String {
        match self.case.as_str() {
            "" => self.name.clone(),
            case => format!("{}, {case}", self.name),
        }
    }

    /// The cells that healed in every run, and all that were played.
    #[must_use]
    pub fn healed(&self) -> (usize, usize) {
        let played = self.cells.iter().flatten();
        (played.clone().filter(|cell| cell.healed == cell.runs).count(), played.count())
    }
}

impl Healed {
    /// The share of runs that recovered, from 0 to 1; 0 without runs.
    #[must_use]
    pub fn share(&self) -> f64 {
        // OK because numbers of runs are far below 2^53.
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let (healed, runs) = (self.healed as f64, self.runs.max(1) as f64);
        healed / runs
    }
}
