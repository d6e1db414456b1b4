//! Picture 4: success above load, over how often attempts fail.

use stagger_sim::{EntryReport, StormReport};
use stagger_text::percent;

use super::caption::caption;
use super::recovery::{key, names};
use super::varied::Varied;
use crate::chart::{Along, Axis, Chart, ChartKind, Panel, Reference, Series, Shape};
use crate::numbers::number;
use crate::style::{Style, Styles};

/// Success and, below it, attempts a call, with the line of a tenth more load.
#[must_use]
pub fn failures(report: &StormReport) -> Option<Chart> {
    let varied = Varied::of(report).filter(Varied::is_failures)?;
    let styles = Styles::from(report);
    let lines = |value: fn(&EntryReport) -> f64| -> Vec<Series> {
        let names = names(report).into_iter();
        names.map(|name| series(report, name, styles.get(name), value)).collect()
    };
    let rows = report.cases.iter().flat_map(|case| &case.rows);
    let most = rows.map(|row| row.amplification).fold(1.2, f64::max);
    let success = lines(|row| row.success * 100.0);
    let load = lines(|row| row.amplification);
    let line = Reference { name: "1.1".into(), at: 1.1, along: Along::X, style: Style::LIMIT };
    let x = varied.axis(report, None);
    Some(Chart {
        kind: ChartKind::Lines,
        title: "What retries buy, and what they cost".into(),
        caption: caption(report, None, "Success and load as each attempt fails more often"),
        alt: alt(report),
        reading: READING,
        keys: success.iter().map(key).collect(),
        panels: vec![
            Panel {
                series: success,
                ..Panel::new(x.clone(), Axis::linear("success", "%", 0.0, 100.0))
            },
            Panel {
                series: load,
                references: vec![line],
                ..Panel::new(x, Axis::linear("attempts a call", "", 0.9, most * 1.02))
            },
        ],
    })
}

const READING: &str = "\
The upper plane is what callers get, the lower one what the backend pays for it. While few attempts fail, retries are \
cheap and mend nearly everything. When most fail, they mend little and multiply the load. A budget keeps to the line of 1.1: a \
tenth more load, whatever happens.";

fn series(
    report: &StormReport,
    name: &str,
    style: Style,
    value: fn(&EntryReport) -> f64,
) -> Series {
    let points = report.cases.iter().filter_map(|case| {
        let row = case.rows.iter().find(|row| row.name == name)?;
        Some((case.value, value(row)))
    });
    Series { name: name.into(), style, shape: Shape::Dotted, points: points.collect() }
}

fn alt(report: &StormReport) -> String {
    let cases = report.cases.iter().map(|case| {
        let rows = case.rows.iter().map(|row| {
            let (success, load) = (percent(row.success), number(row.amplification));
            format!("{} {success} with {load} attempts a call", row.name)
        });
        format!("{}: {}", case.label, rows.collect::<Vec<_>>().join(", "))
    });
    format!("Two planes of lines. {}.", cases.collect::<Vec<_>>().join("; "))
}
