//! The page from top to bottom: everything that its template shows.

use askama::Template;
use stagger_sim::{BUCKET, CaseReport, StormReport};

use super::answer::{answer, head};
use super::swept::{swept, with_names, with_units};
use super::table::FiguresTable;
use crate::chart::Chart;
use crate::draw::{Frame, canvas};
use crate::figures::{Picture, ReportPictures, main_case, shown, shown_of};
use crate::grid::HeatGrid;
use crate::render::{Html, css, inline};
use crate::style::Styles;

/// The parts of the page beyond the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageOptions {
    /// The command that gives the same page again; one for the report's own name, seed and runs
    /// when left out.
    pub command: Option<String>,
    /// The results of two values that were varied at once.
    pub grid: Option<HeatGrid>,
    /// The reason why the figures allow no verdict: it is told in place of the answer in words.
    pub no_verdict: Option<String>,
}

/// One HTML file that needs nothing else: the answer in words, the pictures, all figures, and how
/// to get them again.
///
/// # Panics
/// Never: writing into a string cannot fail.
#[must_use]
pub fn page(report: &StormReport, options: &PageOptions) -> String {
    StormPage::of(report, options).render().expect("writing into a string cannot fail") + "\n"
}

#[derive(Template)]
#[template(path = "page.html")]
struct StormPage {
    policy: Html,
    style: Html,
    name: Html,
    title: Html,
    about: Html,
    /// Whether there is no case at all.
    nothing: bool,
    swept: Option<Html>,
    told: Vec<CaseSentences>,
    lesson: Option<Html>,
    /// Cases that are shown one by one, and all.
    shown: usize,
    all: usize,
    pictures: Vec<Figure>,
    others: Vec<(Html, Vec<Figure>)>,
    bucket_millis: u64,
    tables: Vec<FiguresTable>,
    command: Html,
    settings: Vec<(Html, Html)>,
}

/// The sentences about one case.
struct CaseSentences {
    /// Whether they are the answer.
    leads: bool,
    /// The case's name, where there are several.
    case: Option<Html>,
    text: Html,
}

/// One chart twice, for a screen and for a telephone; the style sheet shows one of them.
pub(super) struct Figure {
    pub(super) title: Html,
    pub(super) reading: Html,
    pub(super) wide: Html,
    pub(super) narrow: Html,
    pub(super) caption: Html,
}

impl StormPage {
    fn of(report: &StormReport, options: &PageOptions) -> Self {
        let (shown_cases, all) = shown_of(report);
        let ReportPictures { main, others } = ReportPictures::of(report, options.grid.as_ref());
        let drawn = others.into_iter().filter(|(_, pictures)| !pictures.is_empty());
        let others = drawn.map(|(case, pictures)| (Html::text(&case.label), figures(&pictures)));
        let styles = Styles::from(report);
        let swept = options.grid.as_ref().filter(|_| main_case(report).is_some()).and_then(swept);
        let lesson = Some(&report.lesson).filter(|lesson| !lesson.is_empty());
        Self {
            policy: Html::own(policy()),
            style: Html::own(style()),
            name: Html::text(&report.name),
            title: Html::text(&report.about),
            about: with_units(&Html::text(&report.about)),
            nothing: main_case(report).is_none(),
            swept: swept.map(|text| with_names(&Html::text(&text))),
            told: told(report, options),
            lesson: lesson.map(|lesson| with_units(&Html::text(lesson))),
            shown: shown_cases,
            all,
            pictures: figures(&main),
            others: others.collect(),
            bucket_millis: BUCKET.as_nanos() / 1_000_000,
            tables: shown(report).iter().map(|case| FiguresTable::of(case, &styles)).collect(),
            command: command(report, options),
            settings: settings(report),
        }
    }
}

/// Sentences about a case that is not the main one.
const SHORT: usize = 3;

/// The answer about the main case, and a few sentences about each other one that is shown.
fn told(report: &StormReport, options: &PageOptions) -> Vec<CaseSentences> {
    let Some(main) = main_case(report) else { return Vec::new() };
    // Of what was swept one sentence says more than one for each cell would.
    let others = shown(report).into_iter().filter(|_| options.grid.is_none());
    let others = others.filter(|&case| !std::ptr::eq(case, main));
    let all = std::iter::once((main, true)).chain(others.map(|case| (case, false)));
    all.map(|(case, leads)| sentences((report, options), case, leads)).collect()
}

fn sentences(
    (report, options): (&StormReport, &PageOptions),
    case: &CaseReport,
    leads: bool,
) -> CaseSentences {
    let mut sentences = match &options.no_verdict {
        Some(why) => vec![format!("No verdict is possible: {why}.")],
        None => answer(report, case),
    };
    if !leads {
        // The tables have the rest.
        sentences.truncate(SHORT);
    }
    let name = (report.cases.len() != 1).then(|| Html::text(&head(case)));
    CaseSentences { leads, case: name, text: with_names(&Html::text(&sentences.join(" "))) }
}

fn figures(pictures: &[Picture]) -> Vec<Figure> {
    pictures.iter().map(|picture| figure(&picture.chart)).collect()
}

pub(super) fn figure(chart: &Chart) -> Figure {
    let name = format!("{}. {}", chart.title, chart.alt);
    let drawing = |frame, class| Html::own(inline(&canvas(chart, frame), class, &name));
    Figure {
        title: Html::text(&chart.title),
        reading: Html::text(chart.reading),
        wide: drawing(&Frame::WIDE, "wide"),
        narrow: drawing(&Frame::NARROW, "narrow"),
        caption: Html::text(&chart.caption),
    }
}

fn command(report: &StormReport, options: &PageOptions) -> Html {
    let StormReport { name, seed, runs, .. } = report;
    match &options.command {
        Some(command) => Html::text(command),
        None => Html::text(&format!("stagger storm {name} --seed {seed} --runs {runs}")),
    }
}

/// The seed, the runs, the parameters, and the quantity that was varied.
fn settings(report: &StormReport) -> Vec<(Html, Html)> {
    let setting = |name: &str, value: &str| (Html::text(name), Html::text(value));
    let mut all =
        vec![setting("seed", &report.seed.to_string()), setting("runs", &report.runs.to_string())];
    all.extend(report.parameters.iter().map(|(name, value)| setting(name, value)));
    all.extend(report.varied.iter().map(|varied| setting("varied", varied)));
    all
}

/// Everything within the page's one `style` element.
pub(super) fn style() -> String {
    css(":root") + include_str!("style.css")
}

/// No script, no network, no font, no frame, and this very style sheet.
pub(super) fn policy() -> String {
    format!("default-src 'none'; style-src 'sha256-{DIGEST}'; base-uri 'none'; form-action 'none'")
}

/// SHA-256 of the style sheet in Base64; a test computes it again.
const DIGEST: &str = "F8uSC394w/m/byoA0QaKLlAVmwTA57YtohJxovpzSeI=";

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use sha2::Digest as _;

    use super::*;

    #[test]
    fn a_changed_style_sheet_would_be_refused_by_its_own_policy() {
        let digest = sha2::Sha256::digest(style());
        assert_eq!(DIGEST, base64::engine::general_purpose::STANDARD.encode(digest));
    }
}
