//! Picture 1: the instants of attempts, in which clumps are seen at once.

use stagger_sim::{CaseReport, EntryReport, StormReport};

use super::window::{BarWindow, caption};
use crate::chart::{Axis, Chart, ChartKind, LegendKey, Panel, Series, Shape, Swatch};
use crate::numbers::{grouped, secs};
use crate::style::{Ink, Style, Styles, Weight};

/// More dots than this in a strip are one bar, and more than this in all make the file large.
const DOTS: f64 = 1_400.0;
const DOTS_IN_ALL: f64 = 9_000.0;

/// One strip an entry with a dot for every attempt that reached the backend in the first run, or
/// for one in so many.
#[must_use]
pub fn strips(report: &StormReport, case: &CaseReport) -> Option<Chart> {
    let window = BarWindow::of(case);
    let (from, to) = window.ends();
    // OK because a case has a handful of rows.
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let dots = DOTS.min(DOTS_IN_ALL / case.rows.len().max(1) as f64);
    let per_dot = case.rows.iter().map(|row| per_dot(row, inside(row, from, to) / dots)).max()?;
    let styles = Styles::from(report);
    let panels: Vec<_> = case
        .rows
        .iter()
        .map(|row| panel(row, case, (from, to), per_dot, styles.get(&row.name)))
        .collect();
    panels.iter().any(|panel| !panel.series[0].points.is_empty()).then(|| Chart {
        kind: ChartKind::Strips,
        title: "When attempts arrive".into(),
        caption: caption(report, Some(case), &what(per_dot)),
        alt: alt(case),
        reading: READING,
        keys: keys(case),
        panels,
    })
}

const READING: &str = "\
Each strip is one way to retry, and time runs to the right. A dot is an attempt; its height means nothing, it only \
keeps dots apart. An upright line is a clump: many attempts in one instant. Even dust is what a backend can live with.";

fn what(per_dot: u32) -> String {
    let dots = match per_dot {
        1 => "one dot an attempt".to_owned(),
        many => format!("one dot for about {many} attempts"),
    };
    format!("Instants at which attempts of the callers reach the backend in the first run, {dots}")
}

fn keys(case: &CaseReport) -> Vec<LegendKey> {
    let name = "outage".to_owned();
    let key = LegendKey { name, style: Style::solid(Ink::Soft), swatch: Swatch::Shade };
    if case.outages.is_empty() { Vec::new() } else { vec![key] }
}

fn alt(case: &CaseReport) -> String {
    let rows = case.rows.iter().map(|row| {
        let (name, attempts, peak) = (&row.name, row.attempts.mean, row.peak.mean);
        format!("{name}: {} attempts, peak {} a second", grouped(attempts), grouped(peak))
    });
    format!("Strips of attempts over time. {}.", rows.collect::<Vec<_>>().join("; "))
}

/// Attempts for each dot of this row, at least so many: a power of two, as a strip is thinned by, so
/// that the strips of all rows can be thinned to the same share.
fn per_dot(row: &EntryReport, least: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    // OK because a cast from float to integer saturates.
    let least = libm::ceil(least) as u32;
    least.checked_next_power_of_two().unwrap_or(1 << 31).max(row.strip.instants().1)
}

/// The attempts within the window that the strip stands for.
#[expect(clippy::cast_precision_loss, reason = "at most 20 000 dots")]
fn inside(row: &EntryReport, from: f64, to: f64) -> f64 {
    let (instants, one_in) = row.strip.instants();
    // OK because a strip holds at most 20 000 instants.
    let count = instants.map(secs).filter(|at| (from..to).contains(at)).count() as f64;
    count * f64::from(one_in)
}

fn panel(
    row: &EntryReport,
    case: &CaseReport,
    ends: (f64, f64),
    per_dot: u32,
    style: Style,
) -> Panel {
    let (instants, one_in) = row.strip.instants();
    let step = (per_dot / one_in).max(1) as usize;
    let shown = instants.map(secs).filter(|at| (ends.0..ends.1).contains(at)).step_by(step);
    let (x, y) = (Axis::linear("time", "s", ends.0, ends.1), Axis::linear("", "", 0.0, 1.0));
    Panel {
        shades: shades(case),
        series: vec![Series {
            name: row.name.clone(),
            style,
            shape: Shape::Dust,
            points: shown.map(|at| (at, 0.0)).collect(),
        }],
        ..Panel::new(x, y).of(&row.name, style)
    }
}

/// The outages of a case in seconds.
pub(super) fn shades(case: &CaseReport) -> Vec<(f64, f64)> {
    case.outages.iter().map(|&(from, until)| (secs(from), secs(until))).collect()
}

impl Weight {
    /// The weight of what arrives, served or not.
    pub(super) const OFFERED: Self = Self::Light;
}
