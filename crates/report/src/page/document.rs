//! The page from top to bottom.

use stagger_sim::{BUCKET, CaseReport, StormReport};

use super::answer::{answer, head};
use super::figures::figure;
use super::style::{policy, style};
use super::swept::swept;
use super::table::table;
use super::words::{with_names, with_units};
use crate::figures::{ReportPictures, main_case, shown, shown_of};
use crate::grid::HeatGrid;
use crate::render::escaped;
use crate::style::Styles;

/// The parts of the page beyond the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageOptions {
    /// The command that gives the same page again; one for the report's own name, seed and runs
    /// when left out.
    pub command: Option<String>,
    /// The results of two values that were varied at once.
    pub grid: Option<HeatGrid>,
}

/// One HTML file that needs nothing else: the answer in words, the pictures, all figures, and how
/// to get them again.
#[must_use]
pub fn page(report: &StormReport, options: &PageOptions) -> String {
    let title = format!("{}: {}", report.name, report.about);
    [
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{} · stagger</title>\n<style>{}</style>\n</head>\n<body>\n",
            policy(),
            escaped(&title),
            style()
        ),
        top(report),
        "<main>\n".into(),
        words(report, options),
        pictures(report, options),
        figures(report),
        again(report, options),
        "</main>\n".into(),
        FOOT.into(),
        "</body>\n</html>\n".into(),
    ]
    .concat()
}

const FOOT: &str = "<footer>Made by stagger's storm lab. The page holds all it needs: no network, no script.</footer>\n";

fn top(report: &StormReport) -> String {
    format!(
        "<header>\n<p class=\"kicker\">Storm lab · {}</p>\n<h1>{}</h1>\n</header>\n",
        escaped(&report.name),
        with_units(&escaped(&report.about))
    )
}

fn words(report: &StormReport, options: &PageOptions) -> String {
    let mut html = "<section class=\"answer\" aria-labelledby=\"answer\">\n<h2 id=\"answer\">The answer</h2>\n".to_owned();
    match main_case(report) {
        None => html += "<p class=\"lead\">Nothing was played, so there is nothing to say.</p>\n",
        Some(main) => {
            if let Some(text) = options.grid.as_ref().and_then(swept) {
                html += &format!("<p class=\"lead\">{}</p>\n", with_names(&escaped(&text)));
            }
            html += &told(report, main, "lead");
            // Of what was swept the sentence above says more than one for each cell would.
            let others = shown(report).into_iter().filter(|&case| !std::ptr::eq(case, main));
            for case in others.filter(|_| options.grid.is_none()) {
                html += &told(report, case, "");
            }
        }
    }
    html += "</section>\n";
    if !report.lesson.is_empty() {
        html += &format!("<p>{}</p>\n", with_units(&escaped(&report.lesson)));
    }
    html + &left_out(report) + CONTENTS
}

const CONTENTS: &str = "\
<nav aria-label=\"On this page\"><ul><li><a href=\"#pictures\">Pictures</a></li><li><a href=\"#figures\">All figures</a></li>\
<li><a href=\"#again\">How to get them again</a></li></ul></nav>\n";

/// Sentences about a case that is not the main one.
const SHORT: usize = 3;

/// The sentences about one case behind its name.
fn told(report: &StormReport, case: &CaseReport, class: &str) -> String {
    let mut sentences = answer(report, case);
    if class.is_empty() {
        // The tables have the rest.
        sentences.truncate(SHORT);
    }
    let name = match report.cases.len() {
        1 => String::new(),
        _ => format!("<span class=\"case\">{}.</span> ", escaped(&head(case))),
    };
    let text = with_names(&escaped(&sentences.join(" ")));
    match class {
        "" => format!("<p>{name}{text}</p>\n"),
        class => format!("<p class=\"{class}\">{name}{text}</p>\n"),
    }
}

fn pictures(report: &StormReport, options: &PageOptions) -> String {
    let mut html = "<h2 id=\"pictures\">Pictures</h2>\n".to_owned();
    let ReportPictures { main, others } = ReportPictures::of(report, options.grid.as_ref());
    if main.is_empty() {
        html += "<p>There is nothing to draw.</p>\n";
    }
    html.extend(main.iter().map(|picture| figure(&picture.chart, "h3")));
    for (case, pictures) in others.iter().filter(|(_, pictures)| !pictures.is_empty()) {
        html += &format!("<details>\n<summary>The same, {}</summary>\n", escaped(&case.label));
        html.extend(pictures.iter().map(|picture| figure(&picture.chart, "h3")));
        html += "</details>\n";
    }
    html
}

fn figures(report: &StormReport) -> String {
    let styles = Styles::from(report);
    let mut html = "<h2 id=\"figures\">All figures</h2>\n".to_owned();
    html += &format!("<p class=\"note\">{}</p>\n", counted());
    for case in shown(report) {
        html += &table(case, &styles);
    }
    html
}

/// A sentence on the cases that a page leaves out, and the place that has them.
fn left_out(report: &StormReport) -> String {
    let (shown, all) = shown_of(report);
    if shown == all {
        return String::new();
    }
    format!(
        "<p class=\"note\">The page shows {shown} of the {all} cases one by one, from the first to the last. \
         The figures of all are in the output of the same command with <code>--format csv</code>.</p>\n"
    )
}

fn counted() -> String {
    format!(
        "Means over the runs; ± is the standard deviation of a single run. Peaks are counted in buckets of {} ms and given \
         for a second. Wasted is the share of finished work whose callers had gone. A latency is that of calls that succeeded, and at most 3 % too long.",
        BUCKET.as_nanos() / 1_000_000
    )
}

fn again(report: &StormReport, options: &PageOptions) -> String {
    let name = &report.name;
    let default = format!("stagger storm {name} --seed {} --runs {}", report.seed, report.runs);
    let command = options.command.clone().unwrap_or(default);
    let mut html = "<h2 id=\"again\">How to get them again</h2>\n".to_owned();
    html += &format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(&command));
    html += "<p class=\"note\">One seed gives the same bytes on every machine and with any number of threads.</p>\n<dl>\n";
    let all = [
        ("seed".to_owned(), report.seed.to_string()),
        ("runs".to_owned(), report.runs.to_string()),
    ];
    for (name, value) in all.iter().chain(&report.parameters) {
        html += &format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
    }
    if let Some(varied) = &report.varied {
        html += &format!("<dt>varied</dt><dd>{}</dd>\n", escaped(varied));
    }
    html + "</dl>\n"
}
