//! Picture 3: how long recovery takes over what the cases vary.

use stagger_sim::{CaseReport, EntryReport, RecoveryVerdict, Stat, StormReport};

use super::window::{Varied, caption};
use crate::chart::{
    Along, Axis, Band, Chart, ChartKind, LegendKey, Panel, Reference, Series, Shape, Swatch,
};
use crate::numbers::{grouped, seconds};
use crate::style::{Style, Styles, Weight};

/// One line an entry, with a place above all values for runs that never recover.
#[must_use]
pub fn recovery(report: &StormReport) -> Option<Chart> {
    let varied = Varied::of(report).filter(|varied| !varied.is_failures())?;
    let rows = || report.cases.iter().flat_map(|case| &case.rows);
    let times: Vec<f64> = rows().filter_map(time).filter(|time| time.is_finite()).collect();
    let most = times.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let least = times.iter().copied().filter(|&time| time > 0.0).fold(most, f64::min);
    let never = rows().any(|row| time(row).is_some_and(f64::is_infinite));
    let y = Axis::log("recovery", "s", (least * 0.8).max(LEAST), most * 1.25);
    let styles = Styles::from(report);
    let names = names(report);
    let series: Vec<_> = names.iter().map(|name| series(report, name, styles.get(name))).collect();
    let bands = names.iter().map(|name| band(report, name, styles.get(name)));
    let limit = limit(report, &varied);
    let limit_key = limit.as_ref().map(|limit| LegendKey {
        name: format!("capacity / attempts = {}", grouped(limit.at)),
        style: limit.style,
        swatch: Swatch::Line,
    });
    // A limit below every case is worth seeing most of all.
    let x = varied.axis(report, limit.iter().map(|limit| limit.at));
    let panel = Panel {
        bands: bands.collect(),
        references: limit.into_iter().collect(),
        ..Panel::new(x, Axis { never, ..y })
    };
    Some(Chart {
        kind: ChartKind::Lines,
        title: "How long until all is well again".into(),
        caption: caption(report, None, &what(report)),
        alt: alt(&series),
        reading: READING,
        keys: series.iter().map(key).chain(limit_key).collect(),
        panels: vec![Panel { series, ..panel }],
    })
}

const WHAT: &str = "\
Mean time to recovery of the runs that recovered; never, where fewer than half of them did. The bands are one \
standard deviation";
fn what(report: &StormReport) -> String {
    let drawn = places(report).count();
    match report.cases.len() - drawn {
        0 => WHAT.to_owned(),
        _ => format!("{WHAT}. Of several cases at one place the first is drawn"),
    }
}

const READING: &str = "\
Lower is better. Each step up the side is a multiple, not a sum, so a line that lies a hand above another takes many times as \
long. A line that enters the top stretch does not come back by itself at all. Grey and dotted is who never retries: whatever \
lies above it makes the outage longer.";

/// Recovery in no time at all is drawn at the length of a bucket.
const LEAST: f64 = 0.05;

/// The entries of all cases, in order.
pub(super) fn names(report: &StormReport) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in report.cases.iter().flat_map(|case| &case.rows) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    names
}

/// Seconds to recovery; without bound when most runs never do, and `None` without runs or a
/// verdict.
pub(crate) fn time(row: &EntryReport) -> Option<f64> {
    let healed = row.recovery.healed;
    match row.runs {
        0 => None,
        _ if has_no_verdict(row) => None,
        runs if healed * 2 < runs || healed == 0 => Some(f64::INFINITY),
        _ => Some(row.recovery.seconds.mean),
    }
}

const fn has_no_verdict(row: &EntryReport) -> bool {
    matches!(row.verdict(), RecoveryVerdict::NotWithinWatch | RecoveryVerdict::TroubleLasts)
}

/// The cases, and of several at one place the first alone: a line has one height at each place.
fn places(report: &StormReport) -> impl Iterator<Item = &CaseReport> {
    let taken = |nth: usize, value: f64| {
        report.cases.iter().take(nth).any(|case| case.value.total_cmp(&value).is_eq())
    };
    report
        .cases
        .iter()
        .enumerate()
        .filter(move |(nth, case)| !taken(*nth, case.value))
        .map(|(_, case)| case)
}

fn series(report: &StormReport, name: &str, style: Style) -> Series {
    let points = places(report).filter_map(|case| {
        let row = case.rows.iter().find(|row| row.name == name)?;
        time(row).map(|time| (case.value, time))
    });
    Series { name: name.into(), style, shape: Shape::Dotted, points: points.collect() }
}

fn band(report: &StormReport, name: &str, style: Style) -> Band {
    let points = places(report).filter_map(|case| {
        let row = case.rows.iter().find(|row| row.name == name)?;
        time(row).filter(|time| time.is_finite())?;
        let Stat { mean, sd } = row.recovery.seconds;
        Some((case.value, (mean - sd).max(LEAST), mean + sd))
    });
    Band { style, weight: Weight::Faint, steps: false, points: points.collect() }
}

pub(super) fn key(series: &Series) -> LegendKey {
    LegendKey { name: series.name.clone(), style: series.style, swatch: Swatch::Line }
}

/// The load at which every call's attempts together are all that the backend can serve.
fn limit(report: &StormReport, varied: &Varied) -> Option<Reference> {
    if !varied.is_load() {
        return None;
    }
    let capacity = report.cases.first()?.capacity?;
    let attempts = report.parameters.iter().find(|(name, _)| name == "attempts")?;
    let attempts: f64 = attempts.1.parse().ok().filter(|&attempts: &f64| attempts >= 1.0)?;
    Some(Reference {
        name: String::new(),
        at: capacity / attempts,
        along: Along::Y,
        style: Style::LIMIT,
    })
}

fn alt(series: &[Series]) -> String {
    let one = |&(at, time): &(f64, f64)| match time.is_finite() {
        true => format!("{} at {}", seconds(time), crate::numbers::number(at)),
        false => format!("never at {}", crate::numbers::number(at)),
    };
    let lines = series.iter().map(|series| {
        let points: Vec<_> = series.points.iter().map(one).collect();
        format!("{}: {}", series.name, points.join(", "))
    });
    format!("Lines of recovery times. {}.", lines.collect::<Vec<_>>().join("; "))
}
