//! The shapes of the laws as a page, as JSON and as CSV.

use std::fmt::Write;

use serde::Serialize;
use stagger_sim::{Growth, Law, Shape, Shapes, ShapesReport, Wave};
use stagger_text::{hanging, percent, rounded};

use super::measures::runs;
use super::records::{Figure, millis, page};
use super::table::{align, plain, text};

/// Three small tables.
pub(crate) fn shapes_table(shapes: &Shapes, report: &ShapesReport, width: usize) -> String {
    let wave = format!(
        "One wave of {} retries under a ceiling of {}: the fullest bucket over an even spread",
        shapes.chains, shapes.base
    );
    format!(
        "storm shapes: delays of the laws alone, without a server\n\
         seed {}, {} of {} chains, base {}, cap {}\n\n\
         Mean delay under one ceiling\n{}\n\n\
         Decorrelated laws, retry by retry\n{}\n\n\
         {}\n{}\n\n\
         {}\n",
        shapes.seed,
        runs(shapes.runs),
        shapes.chains,
        shapes.base,
        shapes.cap,
        means(report),
        growth(report),
        hanging(&wave, width, 2),
        waves(report),
        hanging(LESSON, width, 0),
    )
}

const LESSON: &str = "Clamping after the draw puts a third of a long-failing fleet exactly on the \
    cap, from where it comes back in one instant; the same law with its bound inside the draw puts \
    nobody there. Gaussian delays crowd around their mean, and clamped at zero they also send a spike \
    of retries at once.";

fn means(report: &ShapesReport) -> String {
    let mut table = plain(&owned(&["law", "mean/ceiling", "at zero"]));
    for row in &report.means {
        let (mean, zero) = (format!("{:.3}", row.of_ceiling), percent(row.at_zero));
        table.add_row([row.shape.to_string(), mean, zero]);
    }
    align(&mut table, 1..3);
    text(&table)
}

fn growth(report: &ShapesReport) -> String {
    let header = ["retry", "mean/base", "at the cap", "mean/base, clamped", "at the cap, clamped"];
    let mut table = plain(&owned(&header));
    let law = |law| report.growth.iter().filter(move |row| row.shape == Shape::Engine(law));
    for (inside, clamped) in law(Law::Decorrelated).zip(law(Law::DecorrelatedClamped)) {
        let name = inside.retry.map_or_else(|| "long run".to_owned(), |retry| retry.to_string());
        let mean = |row: &Growth| format!("{:.2}", row.of_base);
        let (free, bound) = (percent(inside.at_cap), percent(clamped.at_cap));
        table.add_row([name, mean(inside), free, mean(clamped), bound]);
    }
    align(&mut table, 1..5);
    text(&table)
}

fn waves(report: &ShapesReport) -> String {
    let shape = |wave: &Wave| wave.shape;
    let rows: Vec<&[Wave]> = report.waves.chunk_by(|a, b| shape(a) == shape(b)).collect();
    let buckets = rows.first().map_or(&[][..], |row| row);
    let header = buckets.iter().map(|wave| format!("{} buckets", wave.bucket));
    let header: Vec<String> = std::iter::once("law".to_owned()).chain(header).collect();
    let mut table = plain(&header);
    for row in rows {
        let figures = row.iter().map(|wave| format!("{:.2}", wave.over_flat.mean));
        let name = row.first().map(|wave| wave.shape.to_string());
        table.add_row(name.into_iter().chain(figures).collect::<Vec<_>>());
    }
    align(&mut table, 1..header.len());
    text(&table)
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[derive(Debug, Serialize)]
struct ShapesPage {
    scenario: &'static str,
    seed: u64,
    runs: u32,
    chains: u32,
    base_ms: f64,
    cap_ms: f64,
    means: Vec<MeanLine>,
    growth: Vec<GrowthLine>,
    waves: Vec<WaveLine>,
}

#[derive(Debug, Serialize)]
struct MeanLine {
    law: String,
    mean_over_ceiling: f64,
    at_zero: f64,
}

/// `retry` is null for the long run.
#[derive(Debug, Serialize)]
struct GrowthLine {
    law: String,
    retry: Option<u32>,
    mean_over_base: f64,
    at_cap: f64,
}

#[derive(Debug, Serialize)]
struct WaveLine {
    law: String,
    bucket_ms: f64,
    peak_over_flat: Figure,
}

/// One object on several lines.
pub(crate) fn shapes_json(shapes: &Shapes, report: &ShapesReport) -> String {
    let mean = |row: &stagger_sim::Mean| MeanLine {
        law: row.shape.to_string(),
        mean_over_ceiling: rounded(row.of_ceiling),
        at_zero: rounded(row.at_zero),
    };
    let growth = |row: &Growth| GrowthLine {
        law: row.shape.to_string(),
        retry: row.retry,
        mean_over_base: rounded(row.of_base),
        at_cap: rounded(row.at_cap),
    };
    let wave = |row: &Wave| WaveLine {
        law: row.shape.to_string(),
        bucket_ms: millis(row.bucket),
        peak_over_flat: row.over_flat.into(),
    };
    page(&ShapesPage {
        scenario: "shapes",
        seed: shapes.seed,
        runs: shapes.runs,
        chains: shapes.chains,
        base_ms: millis(shapes.base),
        cap_ms: millis(shapes.cap),
        means: report.means.iter().map(mean).collect(),
        growth: report.growth.iter().map(growth).collect(),
        waves: report.waves.iter().map(wave).collect(),
    })
}

/// One figure a line: which one, of which law, where, and its value.
pub(crate) fn shapes_csv(report: &ShapesReport) -> String {
    let mut page = String::from("figure,law,at,value\n");
    let mut line = |figure: &str, law: Shape, at: &str, value: f64| {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{figure},{law},{at},{}", rounded(value));
    };
    for row in &report.means {
        line("mean_over_ceiling", row.shape, "", row.of_ceiling);
        line("at_zero", row.shape, "", row.at_zero);
    }
    for row in &report.growth {
        let retry = row.retry.map_or_else(|| "long run".to_owned(), |retry| retry.to_string());
        line("mean_over_base", row.shape, &retry, row.of_base);
        line("at_cap", row.shape, &retry, row.at_cap);
    }
    for row in &report.waves {
        line("peak_over_flat", row.shape, &row.bucket.to_string(), row.over_flat.mean);
    }
    page
}
