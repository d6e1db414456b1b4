//! A report as comma-separated values, one line a row.

use std::fmt::Write;

use super::figure::rounded;
use super::json::millis;
use super::storm::Storm;

/// No field needs quotes: names are plain and numbers have points.
pub(crate) fn csv(storm: &Storm<'_>) -> String {
    let report = storm.report();
    let mut page = String::from("scenario,seed,runs,");
    if let Some(case) = storm.case() {
        page += case;
        page += "_ms,";
    }
    page += "law,peak_rps_mean,peak_rps_sd,amplification,success\n";
    for row in &report.rows {
        let case = storm.case().map(|_| format!("{},", millis(row.case))).unwrap_or_default();
        let figures = [row.peak.mean, row.peak.sd, row.amplification, row.success].map(rounded);
        let [mean, sd, amplification, success] = figures;
        let (name, seed, runs, law) = (storm.name(), report.seed, report.runs, row.law);
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "{name},{seed},{runs},{case}{law},{mean},{sd},{amplification},{success}"
        );
    }
    page
}
