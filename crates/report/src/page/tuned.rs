//! The page of a search for a policy: the verdict, the front as a picture, all rows, and the policy.

use askama::Template;
use stagger_text::{brief, percent};
use stagger_tune::{PairedDifference, TuneReport, TunedRow, summary};

use super::document::{Figure, figure, policy, style};
use super::swept::with_units;
use crate::chart::{Axis, Chart, ChartKind, LegendKey, Panel, Series, Shape, Swatch};
use crate::numbers::number;
use crate::render::Html;
use crate::style::{Dash, Dot, Ink, Style};

/// The parts of the page beyond the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunePageOptions {
    /// The command that gives the same page again.
    pub command: String,
    /// The worlds, as names and values.
    pub worlds: Vec<(String, String)>,
    /// The policy file.
    pub policy_file: String,
}

/// One HTML file that needs nothing else: the verdict of a search with its condition, success over added load
/// of all rows, the rows as a table, the policy file, and how to get them again.
///
/// # Panics
/// Never: writing into a string cannot fail.
#[must_use]
pub fn tune_page(report: &TuneReport, options: &TunePageOptions) -> String {
    TunePage::of(report, options).render().expect("writing into a string cannot fail") + "\n"
}

#[derive(Template)]
#[template(path = "tune.html")]
struct TunePage {
    policy: Html,
    style: Html,
    sentence: Html,
    condition: Html,
    summary: Html,
    picture: Figure,
    rows: Vec<TuneTableRow>,
    policy_file: Html,
    command: Html,
    settings: Vec<(Html, Html)>,
}

/// One row of the table.
struct TuneTableRow {
    name: Html,
    marks: &'static str,
    cells: [String; 5],
    difference: String,
    interval: String,
    summary: Html,
}

impl TunePage {
    fn of(report: &TuneReport, options: &TunePageOptions) -> Self {
        let recommended = report.recommended();
        Self {
            policy: Html::own(policy()),
            style: Html::own(style()),
            sentence: with_units(&Html::text(&report.sentence())),
            condition: with_units(&Html::text(&condition(report))),
            summary: with_units(&Html::text(&summary(&recommended.policy))),
            picture: figure(&front(report)),
            rows: report.rows.iter().map(|row| table_row(report, row)).collect(),
            policy_file: Html::text(&options.policy_file),
            command: Html::text(&options.command),
            settings: settings(report, options),
        }
    }
}

/// The condition of the verdict: how many worlds, and which of them the search has not seen.
fn condition(report: &TuneReport) -> String {
    let (training, judged) = (report.training_worlds, report.against_default.worlds);
    format!(
        "Found in {training} worlds, and judged in {judged} others that the search had not \
         seen. The verdict holds for these worlds, not for others."
    )
}

fn table_row(report: &TuneReport, row: &TunedRow) -> TuneTableRow {
    let recommended = std::ptr::eq(row, report.recommended());
    let marks = match (recommended, row.on_front) {
        (true, true) => "recommended, on the front",
        (true, false) => "recommended",
        (false, true) => "on the front",
        (false, false) => "",
    };
    let (difference, interval) = difference(&row.difference, recommended);
    TuneTableRow {
        name: Html::text(&row.name),
        marks,
        cells: [
            percent(row.success),
            format!("{:+.3}", row.added_load),
            brief(row.p99),
            percent(row.miss),
            number(row.cost),
        ],
        difference,
        interval,
        summary: Html::text(&summary(&row.policy)),
    }
}

/// The difference to the recommended row, and its interval.
fn difference(difference: &PairedDifference, recommended: bool) -> (String, String) {
    if recommended {
        return ("–".to_owned(), String::new());
    }
    let (low, high) = difference.interval();
    (format!("{:+.2}", difference.mean), format!("{low:+.2} to {high:+.2}"))
}

/// The search, then the worlds.
fn settings(report: &TuneReport, options: &TunePageOptions) -> Vec<(Html, Html)> {
    let objective = report.options.objective;
    let p99 = objective.p99().map(|p99| ("99 % of the calls within".to_owned(), p99.to_string()));
    let own = [
        ("succeed within the deadline".to_owned(), objective.success().to_string()),
        ("deadline".to_owned(), objective.deadline().to_string()),
    ];
    let search = [
        ("seed".to_owned(), report.options.seed.to_string()),
        ("candidates".to_owned(), report.candidates.to_string()),
        ("simulated events".to_owned(), report.events.to_string()),
        ("scaled down by".to_owned(), number(report.scale)),
    ];
    let all = own.into_iter().chain(p99).chain(options.worlds.iter().cloned()).chain(search);
    all.map(|(name, value)| (Html::text(&name), Html::text(&value))).collect()
}

/// The style of rows that another one dominates.
const OTHER: Style = Style { ink: Ink::Soft, dash: Dash::Dotted, dot: Dot::Cross };
/// The style of the front, and of the recommended row.
const FRONT: Style = Style { ink: Ink::Entry(0), dash: Dash::Dashed, dot: Dot::Square };
const RECOMMENDED: Style = Style::solid(Ink::Accent);

/// Success over added load: the front as a line, the others as crosses.
fn front(report: &TuneReport) -> Chart {
    let point = |row: &TunedRow| (row.added_load, row.success * 100.0);
    let mut front: Vec<_> = report.rows.iter().filter(|row| row.on_front).map(point).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    let others = report.rows.iter().filter(|row| !row.on_front).map(point);
    let mut series = vec![one("on the front", FRONT, front)];
    series.extend(others.map(|place| one("another row has it all better", OTHER, vec![place])));
    series.push(one("recommended", RECOMMENDED, vec![point(report.recommended())]));
    let (x, y) = (bounds(report, |row| point(row).0), bounds(report, |row| point(row).1));
    let mut keys: Vec<LegendKey> = Vec::new();
    for Series { name, style, .. } in &series {
        if !keys.iter().any(|key| key.name == *name) {
            keys.push(LegendKey { name: name.clone(), style: *style, swatch: Swatch::Line });
        }
    }
    let recommended = report.recommended();
    Chart {
        kind: ChartKind::Lines,
        title: "What success costs".into(),
        caption: format!("Means over {} held-out worlds", report.held_out_worlds),
        alt: format!(
            "The recommended policy serves {} for {:+.3} attempts a call",
            percent(recommended.success),
            recommended.added_load
        ),
        reading: READING,
        keys,
        panels: vec![Panel {
            series,
            ..Panel::new(
                Axis::linear("added attempts a call", "", x.0, x.1),
                Axis::linear("success", "%", y.0, y.1),
            )
        }],
    }
}

const READING: &str = "\
Further up more calls succeed in time; further left the server gets less load. A row is on the front if no other is as \
good in success, load and latency, and better in one of them.";

fn one(name: &str, style: Style, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), style, shape: Shape::Dotted, points }
}

/// The least and the most of a figure, with a margin.
fn bounds(report: &TuneReport, figure: impl Fn(&TunedRow) -> f64) -> (f64, f64) {
    let all = report.rows.iter().map(figure);
    let (least, most) =
        all.fold((f64::MAX, f64::MIN), |(least, most), it| (least.min(it), most.max(it)));
    let margin = ((most - least) * 0.05).max(0.001);
    (least - margin, most + margin)
}
