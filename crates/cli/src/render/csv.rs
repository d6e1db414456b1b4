//! A report as comma-separated values, one line a row.

use std::borrow::Cow;
use std::fmt::Write;

use stagger_sim::{CaseReport, EntryReport};
use stagger_text::rounded;

use super::json::{digest, millis, time_to_recover, verdict};
use super::storm::Storm;

const HEADER: &str = "scenario,seed,case,value,law,runs,calls,peak_rps_mean,peak_rps_sd,\
    amplification,success,time_to_recover_s,healed,recovery,wasted,p50_ms,p95_ms,p99_ms,events,digest\n";

/// Figures that there are none of are empty fields.
pub(crate) fn csv(storm: &Storm<'_>) -> String {
    let mut page = String::from(HEADER);
    for (case, row) in storm.rows() {
        line(&mut page, *storm, case, row);
    }
    page
}

fn line(page: &mut String, storm: Storm<'_>, case: &CaseReport, row: &EntryReport) {
    let played = row.runs > 0;
    let figure = |value: f64| optional(played.then(|| rounded(value)));
    let latency = row.latency.map(|latency| optional(latency.map(millis)));
    let fields = [
        quoted(&storm.report.name).into_owned(),
        storm.report.seed.to_string(),
        quoted(&case.label).into_owned(),
        rounded(case.value).to_string(),
        quoted(&row.name).into_owned(),
        row.runs.to_string(),
        figure(row.calls),
        figure(row.peak.mean),
        figure(row.peak.sd),
        figure(row.amplification),
        figure(row.success),
        optional(time_to_recover(row)),
        row.recovery.healed.to_string(),
        verdict(row).unwrap_or_default().to_owned(),
        figure(row.wasted),
    ];
    let fields = fields.into_iter().chain(latency).chain([row.events.to_string(), digest(row)]);
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{}", fields.collect::<Vec<_>>().join(","));
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A name with quotes around it where it needs them (RFC 4180, section 2).
pub(super) fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_name_made_two_fields_of_it() {
        assert_eq!(quoted("full, 6"), "\"full, 6\"");
        assert_eq!(quoted("so-called \"full\""), "\"so-called \"\"full\"\"\"");
        assert_eq!(quoted("full"), "full");
    }
}
