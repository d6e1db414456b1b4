//! A report as files: one page, and a folder of pictures with a heat map for each group of cases.

use std::path::Path;
use std::{env, fs};

use clap::error::ErrorKind;
use stagger_report::{GridPanel, Healed, HeatGrid, PageOptions, page, pictures, shown_of};
use stagger_sim::{EntryReport, RecoveryVerdict, Scenario, ScenarioCase, StormReport};

use crate::command_error::{CommandError, check, failed, put};
use crate::flags::StormFlags;
use crate::render::Swept;
use crate::streams;

/// The files of a report, besides standard output.
#[derive(Debug)]
pub(super) struct Files<'a> {
    page: Option<&'a Path>,
    pictures: Option<&'a Path>,
}

impl<'a> Files<'a> {
    /// The files of these flags. What cannot be written is found before anything is played.
    ///
    /// # Errors
    /// A folder that is not there, or cannot be made.
    pub(super) fn of(flags: &'a StormFlags) -> Result<Self, CommandError> {
        let files = Self { page: flags.report.as_deref(), pictures: flags.pictures.as_deref() };
        if let Some(path) = files.page {
            check("--report", path)?;
        }
        if let Some(folder) = files.pictures {
            fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        }
        Ok(files)
    }

    /// No files, for what has no pictures.
    ///
    /// # Errors
    /// A flag that asks for one.
    pub(super) fn none(flags: &StormFlags, of: &str) -> Result<(), CommandError> {
        let asked =
            [("--report", flags.report.is_some()), ("--pictures", flags.pictures.is_some())];
        match asked.into_iter().find(|&(_, given)| given) {
            Some((flag, _)) => {
                let message = format!("the argument '{flag}' does not apply to '{of}'");
                Err(CommandError::flag(ErrorKind::ArgumentConflict, &message))
            }
            None => Ok(()),
        }
    }

    /// Writes what was asked for; a page without a verdict says why it has none.
    ///
    /// # Errors
    /// The system's refusal, with the file.
    pub(super) fn write(
        &self,
        report: &StormReport,
        grid: Option<HeatGrid>,
        no_verdict: Option<&str>,
    ) -> Result<(), CommandError> {
        let no_verdict = no_verdict.map(str::to_owned);
        let options = PageOptions { command: Some(command_line()), grid, no_verdict };
        if let Some(path) = self.page {
            put(path, page(report, &options).as_bytes())?;
        }
        let Some(folder) = self.pictures else { return Ok(()) };
        let (shown, all) = shown_of(report);
        if shown < all {
            streams::note(&format!(
                "pictures of {shown} of {all} cases; --format csv has all figures"
            ));
        }
        for picture in pictures(report, options.grid.as_ref()) {
            put(&folder.join(format!("{}.svg", picture.name)), picture.to_svg().as_bytes())?;
            #[cfg(feature = "png")]
            {
                let path = folder.join(format!("{}.png", picture.name));
                let png = picture.to_png();
                put(&path, &png.map_err(|error| failed(&path, &std::io::Error::other(error)))?)?;
            }
        }
        if cfg!(not(feature = "png")) {
            streams::note(
                "the pictures are SVG only, because this build writes no PNG; build stagger with --features png",
            );
        }
        Ok(())
    }
}

/// The result of a sweep for the heat map: the cells of every entry.
pub(super) fn heat_map(swept: &Swept, report: &StormReport) -> HeatGrid {
    let axis = |nth: usize| swept.axes.get(nth).cloned();
    let (x, xs) = axis(0).unwrap_or_default();
    let (y, ys) = axis(1).unwrap_or_else(|| (String::new(), vec![String::new()]));
    let panels = swept.maps(report).into_iter().map(|map| GridPanel {
        name: map.name.to_owned(),
        case: map.group.to_owned(),
        cells: map.rows.into_iter().map(|row| row.and_then(healed)).collect(),
    });
    HeatGrid {
        panels: panels.collect(),
        x,
        xs,
        y,
        ys,
        parameters: report.parameters.clone(),
        seed: report.seed,
        runs: report.runs,
    }
}

/// The cell of a row; empty where there is no verdict: its calls ended too soon, or the trouble lasts.
const fn healed(row: &EntryReport) -> Option<Healed> {
    match row.verdict() {
        RecoveryVerdict::NotWithinWatch | RecoveryVerdict::TroubleLasts => None,
        _ => Some(Healed { healed: row.recovery.healed, runs: row.runs }),
    }
}

/// The command line as it can be typed again.
pub(crate) fn command_line() -> String {
    let words = env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    ["stagger".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The parts that all cells of a sweep have in common.
#[derive(Debug)]
pub(super) struct CaseGroups {
    pub(super) own: CaseGroup,
    /// The parameters that are the same in all cells.
    pub(super) shared: Vec<(String, String)>,
}

/// The cases that the scenario itself has in every cell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CaseGroup {
    /// There is one.
    One,
    /// They are an axis of its own, with this name and these values.
    Axis(String, Vec<String>),
    /// They are apart, under these names.
    Named(Vec<String>),
    /// There are more in one cell than in another, so each goes by its own name.
    Apart,
}

impl CaseGroups {
    /// The parts that these cells have in common; `free` if an axis is left for the scenario's own cases.
    pub(super) fn of(played: &[Scenario], free: bool) -> Self {
        let Some((first, others)) = played.split_first() else {
            return Self { own: CaseGroup::One, shared: Vec::new() };
        };
        let count = first.cases.len();
        let same = others.iter().all(|other| other.cases.len() == count);
        let everywhere =
            |known: &&(String, String)| others.iter().all(|other| other.parameters.contains(known));
        let own = match count {
            _ if !same => CaseGroup::Apart,
            0 | 1 => CaseGroup::One,
            _ if free => axis(first, others),
            _ => CaseGroup::Named(names(first, others)),
        };
        Self { own, shared: first.parameters.iter().filter(everywhere).cloned().collect() }
    }
}

impl CaseGroup {
    /// The name by which the n-th case of a cell is told from its others.
    pub(super) fn group(&self, nth: usize, case: &ScenarioCase) -> String {
        match self {
            Self::One | Self::Axis(..) => String::new(),
            Self::Named(names) => names.get(nth).cloned().unwrap_or_default(),
            Self::Apart => case.label.clone(),
        }
    }
}

/// By the values that the scenario varies, where they are the same in all cells; else by names.
fn axis(first: &Scenario, others: &[Scenario]) -> CaseGroup {
    let values = |scenario: &Scenario| -> Vec<String> {
        scenario.cases.iter().map(|case| case.value.to_string()).collect()
    };
    let own = values(first);
    let distinct = own.iter().enumerate().all(|(nth, value)| !own[..nth].contains(value));
    match &first.varied {
        Some(varied) if distinct && others.iter().all(|other| values(other) == own) => {
            CaseGroup::Axis(varied.clone(), own)
        }
        _ => CaseGroup::Axis("case".to_owned(), names(first, others)),
    }
}

/// Each name without the parts in which cells differ: those say what is swept.
fn names(first: &Scenario, others: &[Scenario]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (nth, case) in first.cases.iter().enumerate() {
        let everywhere = |&(place, part): &(usize, &str)| {
            let mut others = others.iter().filter_map(|other| other.cases.get(nth));
            others.all(|other| other.label.split(", ").nth(place) == Some(part))
        };
        let parts = case.label.split(", ").enumerate().filter(everywhere);
        let name = parts.map(|(_, part)| part).collect::<Vec<_>>().join(", ");
        let taken = name.is_empty() || names.contains(&name);
        names.push(if taken { format!("case {}", nth + 1) } else { name });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_a_shell_would_split_is_quoted() {
        assert_eq!(quoted("--runs"), "--runs");
        assert_eq!(quoted("my page.html"), "'my page.html'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    fn scenario(varied: Option<&str>, cases: &[(&str, f64)]) -> Scenario {
        let case = |&(label, value): &(&str, f64)| ScenarioCase::new(label, value, Vec::new());
        Scenario {
            varied: varied.map(str::to_owned),
            cases: cases.iter().map(case).collect(),
            ..Scenario::default()
        }
    }

    #[test]
    fn a_swept_value_in_the_name_of_a_case_parts_no_cells() {
        let cells = [
            scenario(Some("load"), &[("5 callers, up at 1s", 5.0), ("5 callers, up at 2s", 5.0)]),
            scenario(Some("load"), &[("9 callers, up at 1s", 9.0), ("9 callers, up at 2s", 9.0)]),
        ];
        let names = ["up at 1s", "up at 2s"].map(str::to_owned);
        assert_eq!(CaseGroups::of(&cells, false).own, CaseGroup::Named(names.to_vec()));
        assert_eq!(
            CaseGroups::of(&cells, true).own,
            CaseGroup::Axis("case".to_owned(), names.to_vec())
        );
    }

    #[test]
    fn what_a_scenario_varies_is_the_axis_that_nobody_asked_for() {
        let cell = || scenario(Some("load [1/s]"), &[("load 300/s", 300.0), ("load 500/s", 500.0)]);
        let own = CaseGroups::of(&[cell(), cell()], true).own;
        let values = ["300", "500"].map(str::to_owned);
        assert_eq!(own, CaseGroup::Axis("load [1/s]".to_owned(), values.to_vec()));
    }

    #[test]
    fn cases_without_a_name_in_common_are_numbered_and_unequal_cells_stay_apart() {
        let cells =
            [scenario(None, &[("a", 0.0), ("b", 0.0)]), scenario(None, &[("c", 0.0), ("d", 0.0)])];
        let names = ["case 1", "case 2"].map(str::to_owned);
        assert_eq!(CaseGroups::of(&cells, false).own, CaseGroup::Named(names.to_vec()));
        let unequal = [cells[0].clone(), scenario(None, &[("c", 0.0)])];
        assert_eq!(CaseGroups::of(&unequal, true).own, CaseGroup::Apart);
    }

    #[test]
    fn parameters_that_are_swept_are_not_shared() {
        let with = |base: &str| Scenario {
            parameters: vec![("base".into(), base.into()), ("cap".into(), "1s".into())],
            ..scenario(None, &[("", 0.0)])
        };
        let shared = CaseGroups::of(&[with("1ms"), with("2ms")], true).shared;
        assert_eq!(shared, [("cap".to_owned(), "1s".to_owned())]);
    }
}
