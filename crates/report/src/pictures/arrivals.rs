//! Picture 2: what is offered, served and wasted over time, one small panel an entry.

use stagger_sim::{CaseReport, EntryReport, StormReport};
use stagger_text::percent;

use super::strips::shades;
use super::window::{BarWindow, caption};
use crate::chart::{
    Along, Axis, Band, Chart, ChartKind, LegendKey, Panel, Reference, Series, Shape, Swatch,
};
use crate::numbers::grouped;
use crate::style::{Dash, Dot, Ink, NO_RETRY, Style, Styles, Weight};

/// Counts of a bucket in a second.
const PER_SECOND: f64 = 20.0;
/// A peak this many times the capacity leaves the picture, so that the capacity stays in it.
const HEADROOM: f64 = 6.0;

/// Attempts offered, calls served and work wasted around the outage, as stacked areas, with the
/// capacity as a line and the no-retry traffic for comparison.
#[must_use]
pub fn arrivals(report: &StormReport, case: &CaseReport) -> Option<Chart> {
    let window = BarWindow::of(case);
    let most = case.rows.iter().map(|row| highest(&window, row)).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let top =
        case.capacity.map_or(most, |capacity| most.min(HEADROOM * capacity).max(1.2 * capacity));
    let styles = Styles::from(report);
    let panels = case.rows.iter().map(|row| panel(row, case, &window, top, styles.get(&row.name)));
    let cut = if most > top * 1.001 { ", cut off above" } else { "" };
    let what = format!("Means over the runs in {}{cut}", bars(&window));
    Some(Chart {
        kind: ChartKind::Areas,
        title: "What the backend gets, and what it makes of it".into(),
        caption: caption(report, Some(case), &what),
        alt: alt(case),
        reading: READING,
        keys: keys(case),
        panels: panels.collect(),
    })
}

const READING: &str = "\
Each panel is one way to retry; all have the same axes. The outline is what arrives; solid is what was served, on top of it \
what was finished after its callers had gone. Light without solid below is turned away or waits. The faint band around the outline \
spans all runs. The peak beside a name is that of the table: of buckets of 50 ms, in the part of the run in which the scenario \
looks for peaks, which is after the outage in most. The dotted line is what callers who never retry would send.";

fn bars(window: &BarWindow) -> String {
    match window.per_bar {
        1 => "buckets of 50 ms".into(),
        many => format!("bars of {} ms", 50 * many),
    }
}

fn keys(case: &CaseReport) -> Vec<LegendKey> {
    let accent = Style::solid(Ink::Accent);
    let key = |name: &str, style, swatch| LegendKey { name: name.into(), style, swatch };
    let mut keys = vec![key("offered", accent, Swatch::Area(Weight::OFFERED))];
    keys.push(key("served", accent, Swatch::Area(Weight::Full)));
    if case.rows.iter().any(|row| row.wasted > 0.0) {
        keys.push(key("wasted", Style::solid(Ink::Waste), Swatch::Area(Weight::Full)));
    }
    if case.rows.iter().any(|row| row.name == NO_RETRY) {
        keys.push(key("offered without retries", WITHOUT, Swatch::Line));
    }
    if case.capacity.is_some() {
        keys.push(key("capacity", CAPACITY, Swatch::Line));
    }
    if !case.outages.is_empty() {
        keys.push(key("outage", accent, Swatch::Shade));
    }
    keys
}

/// The line of who never retries, without dots on it.
const WITHOUT: Style = Style { ink: Ink::Soft, dash: Dash::Dotted, dot: Dot::Disc };
const CAPACITY: Style = Style { ink: Ink::Text, dash: Dash::Dashed, dot: Dot::Disc };

fn alt(case: &CaseReport) -> String {
    let rows = case.rows.iter().map(|row| {
        let (peak, success) = (grouped(row.peak.mean), percent(row.success));
        format!("{}: peak {peak} a second, {success} of calls succeed", row.name)
    });
    format!("Areas over time. {}.", rows.collect::<Vec<_>>().join("; "))
}

fn highest(window: &BarWindow, row: &EntryReport) -> f64 {
    let offered = window.means(&row.series.offered);
    offered.into_iter().map(|(_, count)| count * PER_SECOND).fold(0.0, f64::max)
}

fn panel(
    row: &EntryReport,
    case: &CaseReport,
    window: &BarWindow,
    top: f64,
    style: Style,
) -> Panel {
    let (from, to) = window.ends();
    let x = Axis::linear("time", "s", from, to);
    let y = Axis::linear("attempts", "1/s", 0.0, top);
    let offered = rates(window, &row.series.offered);
    let served = rates(window, &row.series.served);
    let wasted = rates(window, &row.series.wasted);
    let zero = offered.iter().map(|&(at, count)| (at, 0.0, count)).collect();
    let low = served.iter().map(|&(at, count)| (at, 0.0, count)).collect();
    let high = served.iter().zip(&wasted);
    let high = high.map(|(&(at, below), &(_, count))| (at, below, below + count)).collect();
    let band = |ink, weight, points| Band { style: Style::solid(ink), weight, steps: true, points };
    let mut bands = vec![band(style.ink, Weight::Faint, spread(window, row))];
    bands.push(band(style.ink, Weight::OFFERED, zero));
    bands.push(band(style.ink, Weight::Full, low));
    if row.wasted > 0.0 {
        bands.push(band(Ink::Waste, Weight::Full, high));
    }
    let line = |name: &str, style, points| Series {
        name: name.into(),
        style,
        shape: Shape::Steps,
        points,
    };
    let mut series = vec![line("offered", style.unbroken(), offered)];
    let without = case.rows.iter().find(|row| row.name == NO_RETRY && style != Style::NO_RETRY);
    series.extend(
        without.map(|row| {
            line("offered without retries", WITHOUT, rates(window, &row.series.offered))
        }),
    );
    let capacity = case.capacity.map(|at| Reference {
        name: String::new(),
        at,
        along: Along::X,
        style: CAPACITY,
    });
    Panel {
        note: format!("peak {}/s", grouped(row.peak.mean)),
        shades: shades(case),
        bands,
        series,
        references: capacity.into_iter().collect(),
        ..Panel::new(x, y).of(&row.name, style)
    }
}

fn rates(window: &BarWindow, buckets: &[f64]) -> Vec<(f64, f64)> {
    window.means(buckets).into_iter().map(|(at, count)| (at, count * PER_SECOND)).collect()
}

/// The fewest and the most attempts of any run in each bar.
#[expect(clippy::cast_precision_loss, reason = "counts of a bucket")]
fn spread(window: &BarWindow, row: &EntryReport) -> Vec<(f64, f64, f64)> {
    let bars = window.bars(&row.series.offered_range);
    bars.map(|(at, bar)| {
        // OK because no bucket holds 2^53 attempts.
        let low = bar.iter().map(|range| range.0).min().unwrap_or(0) as f64;
        let high = bar.iter().map(|range| range.1).max().unwrap_or(0) as f64;
        (at, low * PER_SECOND, high * PER_SECOND)
    })
    .collect()
}
