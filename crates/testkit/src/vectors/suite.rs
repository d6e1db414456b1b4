//! The result of one vector file.

use serde::{Deserialize, Serialize};

/// The result of one vector file.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Suite {
    /// The file below `vectors/`, with the list inside it when the file holds several.
    pub suite: String,
    /// Rows answered as the file says.
    pub passed: usize,
    /// All rows of the file.
    pub total: usize,
    /// Rows that we answer otherwise, or not at all, on purpose.
    pub deliberate: Vec<Deliberate>,
    /// Rows answered otherwise by mistake: always empty on a good day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// A row that we answer otherwise, or not at all, on purpose.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Deliberate {
    /// The row, as the file writes it.
    pub row: String,
    /// Why our answer, or having none, is better.
    pub reason: String,
}

impl Suite {
    /// An empty suite for `vectors/<name>`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { suite: name.into(), ..Self::default() }
    }

    /// Counts a row: passed when `got == want`, else noted as failed.
    pub fn check<T: PartialEq + core::fmt::Debug>(
        &mut self,
        row: impl Into<String>,
        got: &T,
        want: &T,
    ) {
        self.total += 1;
        if got == want {
            self.passed += 1;
        } else {
            self.failed.push(format!("{}: got {got:?}, want {want:?}", row.into()));
        }
    }

    /// Counts a row that we answer with `ours` on purpose; our answer is checked like any other,
    /// and it must differ from `theirs`, or the row is no deliberate one.
    pub fn differ<T: PartialEq + core::fmt::Debug>(
        &mut self,
        row: impl Into<String>,
        (got, ours, theirs): (&T, &T, &T),
        reason: impl Into<String>,
    ) {
        self.total += 1;
        let row = row.into();
        if got == ours && got != theirs {
            self.deliberate.push(Deliberate { row, reason: reason.into() });
        } else {
            self.failed.push(format!("{row}: got {got:?}, ours is {ours:?}, theirs {theirs:?}"));
        }
    }

    /// Counts a row about something that we do not offer on purpose: nothing is compared.
    pub fn leave_out(&mut self, row: impl Into<String>, reason: impl Into<String>) {
        self.total += 1;
        self.deliberate.push(Deliberate { row: row.into(), reason: reason.into() });
    }
}
