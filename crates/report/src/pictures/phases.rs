//! Picture 6: the queue against the callers that wait to retry, as the way of the runs.

use stagger_core::Span;
use stagger_sim::{BUCKET, CaseReport, EntryReport, KEPT_BUCKETS, StormReport};

use super::window::caption;
use crate::chart::{
    Along, Axis, Chart, ChartKind, LegendKey, Panel, Reference, Series, Shape, Swatch,
};
use crate::numbers::grouped;
use crate::style::{Dash, Dot, Ink, NO_RETRY, Style, Styles};

/// Points on one way: more than enough for its shape.
const POINTS: usize = 240;

/// One panel an entry, with the queue beyond which no attempt is answered in time.
#[must_use]
pub fn phases(report: &StormReport, case: &CaseReport) -> Option<Chart> {
    let most = |level: fn(&EntryReport) -> &[f64]| {
        case.rows.iter().flat_map(level).copied().fold(0.0, f64::max)
    };
    let (queued, retrying) = (most(|row| &row.series.queued), most(|row| &row.series.retrying));
    if queued < 2.0 || retrying < 2.0 {
        return None;
    }
    let limit = limit(report, case);
    let top = queued.max(limit.unwrap_or(0.0)) * 1.5;
    let axes = || {
        let x = Axis::log("callers that wait to retry", "", 1.0, retrying * 1.5);
        (x, Axis::log("queued attempts", "", 1.0, top))
    };
    let styles = Styles::from(report);
    let without = case.rows.iter().find(|row| row.name == NO_RETRY);
    let panels = case.rows.iter().map(|row| {
        let (x, y) = axes();
        let style = styles.get(&row.name);
        let others = without.filter(|_| row.name != NO_RETRY).map(never_retrying);
        Panel {
            note: format!("at most {}", grouped(row.queued_most.mean)),
            series: others.into_iter().chain([way(row, style)]).collect(),
            references: limit.map(line).into_iter().collect(),
            ..Panel::new(x, y).of(&row.name, style)
        }
    });
    Some(Chart {
        kind: ChartKind::Paths,
        title: "Stuck or not: the queue against the callers in retry".into(),
        caption: caption(report, Some(case), &what(case)),
        alt: alt(case),
        reading: if limit.is_some() { READING } else { UNLIMITED },
        keys: keys(limit),
        panels: panels.collect(),
    })
}

/// The subject of the picture, and the part of the runs that it shows.
fn what(case: &CaseReport) -> String {
    let longest = case.rows.iter().map(|row| row.series.queued.len()).max().unwrap_or(0);
    let shown = match longest {
        // OK because a series keeps some thousand buckets.
        cut if cut >= KEPT_BUCKETS => {
            format!(" in the first {}", BUCKET.saturating_mul(KEPT_BUCKETS as u64))
        }
        _ => String::new(),
    };
    format!("The way of the mean of all runs{shown}; zero is drawn at 1")
}

const READING: &str = "\
A point is one instant: how many callers wait to retry, and how many attempts wait in the queue. The line is the way \
from the beginning (disc) to the end (square). A way that comes back to the lower left has healed. Above the dashed \
line the queue takes longer than callers wait, so work is done for callers that have gone, and a way that ends there is stuck.";

/// The sentence on how to read it when the callers' timeout is not known.
const UNLIMITED: &str = "\
A point is one instant: how many callers wait to retry, and how many attempts wait in the queue. The line is the way \
from the beginning (disc) to the end (square). A way that comes back to the lower left has healed.";

fn keys(limit: Option<f64>) -> Vec<LegendKey> {
    let way = Style::solid(Ink::Accent);
    let key = |name: &str, style| LegendKey { name: name.into(), style, swatch: Swatch::Line };
    let mut keys = vec![key("way of the runs", way), key("queue without retries", WITHOUT)];
    if let Some(at) = limit {
        keys.push(key(&format!("capacity × timeout = {}", grouped(at)), Style::LIMIT));
    }
    keys
}

const WITHOUT: Style = Style { ink: Ink::Soft, dash: Dash::Dotted, dot: Dot::Disc };

/// The queue that takes as long as callers wait for an answer.
fn limit(report: &StormReport, case: &CaseReport) -> Option<f64> {
    let timeout = report.parameters.iter().find(|(name, _)| name.contains("timeout"))?;
    let timeout: Span = timeout.1.replace(' ', "").parse().ok()?;
    Some(case.capacity? * timeout.as_secs_f64()).filter(|&limit| limit > 1.0)
}

fn line(at: f64) -> Reference {
    Reference { name: String::new(), at, along: Along::X, style: Style::LIMIT }
}

/// The highest queue without retries, as a level line: such callers never wait to retry.
fn never_retrying(row: &EntryReport) -> Series {
    let queued = highest(&row.series.queued).max(1.0);
    let points = vec![(1.0, queued), (f64::MAX, queued)];
    Series { name: row.name.clone(), style: WITHOUT, shape: Shape::Line, points }
}

fn way(row: &EntryReport, style: Style) -> Series {
    let levels = row.series.retrying.iter().zip(&row.series.queued);
    let step = row.series.queued.len().div_ceil(POINTS).max(1);
    let points = levels.step_by(step).map(|(&x, &y)| (x.max(1.0), y.max(1.0))).collect();
    Series { name: row.name.clone(), style: style.unbroken(), shape: Shape::Way, points }
}

fn highest(levels: &[f64]) -> f64 {
    levels.iter().copied().fold(0.0, f64::max)
}

fn alt(case: &CaseReport) -> String {
    let rows = case.rows.iter().map(|row| {
        let (queued, retrying) = (row.queued_most.mean, highest(&row.series.retrying));
        let last = row.series.queued.last().copied().unwrap_or(0.0);
        format!(
            "{}: at most {} queued and {} in retry, {} queued at the end",
            row.name,
            grouped(queued),
            grouped(retrying),
            grouped(last)
        )
    });
    format!("Ways through a plane. {}.", rows.collect::<Vec<_>>().join("; "))
}
