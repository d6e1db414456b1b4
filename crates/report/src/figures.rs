//! The pictures of a report, in the order in which page and files have them, and a chart as a file of its
//! own.

use stagger_sim::{CaseReport, StormReport};

use crate::chart::Chart;
use crate::draw::{Frame, canvas};
use crate::grid::HeatGrid;
use crate::pictures::{arrivals, failures, heat, phases, recovery, strips};
use crate::render;

/// All pictures of a report.
#[derive(Debug)]
pub(crate) struct ReportPictures<'r> {
    /// The six, as far as there are figures for them: those of one case are of the main one.
    pub(crate) main: Vec<Picture>,
    /// The same of each other case that is shown.
    pub(crate) others: Vec<(&'r CaseReport, Vec<Picture>)>,
}

/// Cases that are shown one by one. One of five entries takes 150 KB of a page and one of fifteen
/// 600 KB, so a page of these opens immediately on a telephone; readers do not look through more of them.
pub(crate) const SHOWN: usize = 8;

impl<'r> ReportPictures<'r> {
    /// The pictures of this report, and of what was swept.
    pub(crate) fn of(report: &'r StormReport, grid: Option<&HeatGrid>) -> Self {
        let main = main_case(report);
        let of = |case: Option<&CaseReport>, drawn: Drawn| {
            case.and_then(|case| drawn(report, case)).map(|chart| (name(report, case), chart))
        };
        let over = |chart| Option::map(chart, |chart| (String::new(), chart));
        let six = [
            ("instants", of(main, strips)),
            ("arrivals", of(main, arrivals)),
            ("recovery", over(recovery(report))),
            ("failures", over(failures(report))),
            ("heat", over(grid.and_then(heat))),
            ("queue", of(main, phases)),
        ];
        let picture = |(kind, chart): (&str, Option<_>)| {
            let (name, chart) = chart?;
            Some(Picture::new(&format!("{kind} {name}"), chart))
        };
        let main_pictures = six.into_iter().filter_map(picture).collect();
        let others = shown(report)
            .into_iter()
            .filter(|&case| main.is_some_and(|main| !std::ptr::eq(main, case)));
        let others = others.map(|case| {
            let three: [(&str, Drawn); 3] =
                [("instants", strips), ("arrivals", arrivals), ("queue", phases)];
            let three = three.map(|(kind, drawn)| (kind, of(Some(case), drawn)));
            (case, three.into_iter().filter_map(picture).collect())
        });
        Self { main: main_pictures, others: others.collect() }
    }
}

/// Every picture that the report has figures for, in the order of the page: the attempts' instants,
/// what is offered, served and wasted, recovery, success over failures, the heat map of what was
/// swept, the queue; then those of the other cases that are shown, see [`shown_of`].
///
/// Pictures of one case are of the one in the middle first, which is neither the mildest nor the
/// worst.
#[must_use]
pub fn pictures(report: &StormReport, grid: Option<&HeatGrid>) -> Vec<Picture> {
    let ReportPictures { main, others } = ReportPictures::of(report, grid);
    main.into_iter().chain(others.into_iter().flat_map(|(_, pictures)| pictures)).collect()
}

/// The number of cases that are shown one by one, and of all cases: of many cases eight from the first to
/// the last.
#[must_use]
pub fn shown_of(report: &StormReport) -> (usize, usize) {
    (shown(report).len(), report.cases.len())
}

/// A picture of one case.
type Drawn = fn(&StormReport, &CaseReport) -> Option<Chart>;

/// The case in the middle.
pub(crate) fn main_case(report: &StormReport) -> Option<&CaseReport> {
    report.cases.get(report.cases.len() / 2)
}

/// The cases that are shown one by one: the main one, and others evenly from the first to the last.
pub(crate) fn shown(report: &StormReport) -> Vec<&CaseReport> {
    let count = report.cases.len();
    if count <= SHOWN {
        return report.cases.iter().collect();
    }
    const EVENLY: usize = SHOWN - 1;
    let mut places: Vec<usize> = (0..EVENLY).map(|nth| nth * (count - 1) / (EVENLY - 1)).collect();
    // OK because more than eight cases have their middle within the first and the last.
    if !places.contains(&(count / 2)) {
        places.push(count / 2);
    }
    places.sort_unstable();
    places.into_iter().filter_map(|place| report.cases.get(place)).collect()
}

/// The words that tell the pictures of one case from those of another.
fn name(report: &StormReport, case: Option<&CaseReport>) -> String {
    let case = case.filter(|_| report.cases.len() > 1);
    case.map_or_else(String::new, |case| case.label.clone())
}

/// A chart with a name for its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The name of a file without its ending: small letters, digits and hyphens.
    pub name: String,
    /// The chart that it shows.
    pub chart: Chart,
}

/// No PNG could be made.
#[cfg(feature = "png")]
#[cfg_attr(docsrs, doc(cfg(feature = "png")))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPng(String);

impl Picture {
    /// The chart under this name, turned into one for a file.
    #[must_use]
    pub fn new(name: &str, chart: Chart) -> Self {
        Self { name: file_name(name), chart }
    }

    /// A whole SVG file, for light and for dark.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let canvas = canvas(&self.chart, &Frame::FILE);
        render::standalone(&canvas, &self.chart.title, &self.chart.alt)
    }

    /// A whole PNG file in light colours, two pixels a point.
    ///
    /// # Errors
    /// A canvas too large for a bitmap.
    #[cfg(feature = "png")]
    #[cfg_attr(docsrs, doc(cfg(feature = "png")))]
    pub fn to_png(&self) -> Result<Vec<u8>, NoPng> {
        render::png(&canvas(&self.chart, &Frame::FILE)).map_err(NoPng)
    }

    /// A small version in lines of at most `width` characters, from 40 to 200; it has no colour, so
    /// it suits every terminal and every setting of `NO_COLOR`.
    #[must_use]
    pub fn to_terminal(&self, width: usize) -> String {
        render::terminal(&self.chart, width)
    }
}

/// Small letters, digits and single hyphens, whatever the name was.
fn file_name(name: &str) -> String {
    let mut file = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' | '.' => file.push(c),
            _ if file.ends_with('-') => {}
            _ => file.push('-'),
        }
    }
    file.trim_matches(|c| c == '-' || c == '.').to_owned()
}

#[cfg(feature = "png")]
impl std::fmt::Display for NoPng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no PNG could be made: {}", self.0)
    }
}

#[cfg(feature = "png")]
impl std::error::Error for NoPng {}

#[cfg(test)]
mod tests {
    use stagger_sim::Scenario;

    use super::*;

    fn report(cases: u32) -> StormReport {
        let mut report = Scenario::default().run(&stagger_sim::ThreadPool::single());
        report.cases = (0..cases)
            .map(|value| CaseReport {
                label: value.to_string(),
                value: value.into(),
                outages: Vec::new(),
                capacity: None,
                rows: Vec::new(),
            })
            .collect();
        report
    }

    #[test]
    fn of_many_cases_the_first_the_middle_and_the_last_are_shown() {
        for cases in [1, 2, 8, 9, 10, 25, 100, 1_600] {
            let report = report(cases);
            let values: Vec<f64> = shown(&report).iter().map(|case| case.value).collect();
            assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
            assert!(values.len() <= SHOWN && values.len() >= SHOWN.min(cases as usize) - 1);
            let main = main_case(&report).expect("there is a case");
            assert!(values.contains(&main.value));
            assert_eq!((values.first(), values.last()), (Some(&0.0), Some(&f64::from(cases - 1))));
        }
        assert!(shown(&report(0)).is_empty());
    }

    #[test]
    fn no_name_of_a_case_leaves_the_folder() {
        assert_eq!(file_name("instants up at 0.2s"), "instants-up-at-0.2s");
        assert_eq!(file_name("../../<x> & \"y\""), "x-y");
    }
}
