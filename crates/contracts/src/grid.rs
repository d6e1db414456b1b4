//! The list of the integrations, and every promise for each of them.

use std::fmt;

use serde::Serialize;

use crate::promise::Bench;
use crate::{
    Async, Blocking, ContractCell, DEFAULTS, Integration, PROMISES, ReqwestClient,
    ReqwestMiddleware, ThroughProxy, Tonic, TowerClone, TowerHttp,
};

/// Every promise for every integration.
#[derive(Debug, Serialize)]
pub struct ContractGrid {
    /// Their names, in the order of the cells.
    pub integrations: Vec<&'static str>,
    /// One a promise.
    pub rows: Vec<ContractRow>,
}

/// One promise for every integration.
#[derive(Debug, Serialize)]
pub struct ContractRow {
    /// The promise.
    pub promise: &'static str,
    /// The section of the specification.
    pub section: &'static str,
    /// The results, one an integration.
    pub cells: Vec<ContractCell>,
}

/// Every integration there is.
#[must_use]
pub fn all() -> Vec<Box<dyn Integration>> {
    vec![
        Box::new(Async { copies: false }),
        Box::new(Blocking),
        Box::new(Async { copies: true }),
        Box::new(TowerClone),
        Box::new(TowerHttp),
        Box::new(ReqwestClient),
        Box::new(ReqwestMiddleware),
        Box::new(Tonic),
        Box::new(ThroughProxy),
    ]
}

/// Runs every promise for every integration.
pub async fn grid() -> ContractGrid {
    let integrations = all();
    let mut rows = Vec::new();
    for promise in PROMISES.iter().chain(DEFAULTS) {
        let mut cells = Vec::new();
        for integration in &integrations {
            cells.push(match integration.waives(promise.name) {
                Some(reason) => ContractCell::Waived { reason },
                None => (promise.check)(&Bench(integration.as_ref())).await.finish(),
            });
        }
        rows.push(ContractRow { promise: promise.name, section: promise.section, cells });
    }
    ContractGrid { integrations: integrations.iter().map(|one| one.name()).collect(), rows }
}

impl ContractGrid {
    /// No cell failed, and none is empty.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let full = |row: &ContractRow| row.cells.len() == self.integrations.len();
        !self.rows.is_empty()
            && self.rows.iter().all(|row| full(row) && row.cells.iter().all(ContractCell::is_good))
    }

    /// The failures, one a line.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            for (name, cell) in self.integrations.iter().zip(&row.cells) {
                if let ContractCell::Checked { failed, .. } = cell {
                    let line = |what: &String| format!("{} / {name}: {what}", row.promise);
                    lines.extend(failed.iter().map(line));
                }
            }
        }
        lines
    }
}

/// A table in Markdown.
impl fmt::Display for ContractGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| promise | section | {} |", self.integrations.join(" | "))?;
        writeln!(f, "| --- | --- |{}", " --- |".repeat(self.integrations.len()))?;
        for ContractRow { promise, section, cells } in &self.rows {
            let cells: Vec<_> = cells.iter().map(ToString::to_string).collect();
            writeln!(f, "| {promise} | {section} | {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}
