//! A report as files: one page, and a folder of pictures, with the heat map of a sweep.

use std::path::Path;
use std::{env, fs, io};

use clap::error::ErrorKind;
use stagger_report::{GridPanel, Healed, HeatGrid, PageOptions, page, pictures, shown_of};
use stagger_sim::{EntryReport, RecoveryVerdict, StormReport};

use crate::command_error::CommandError;
use crate::flags::StormFlags;
use crate::output_file::{check, failed, put};
use crate::render::Swept;
use crate::stderr;

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

    /// Writes what was asked for.
    ///
    /// # Errors
    /// The system's refusal, with the file.
    pub(super) fn write(
        &self,
        report: &StormReport,
        grid: Option<HeatGrid>,
    ) -> Result<(), CommandError> {
        let options = PageOptions { command: Some(command()), grid };
        if let Some(path) = self.page {
            put(path, page(report, &options).as_bytes())?;
        }
        let Some(folder) = self.pictures else { return Ok(()) };
        let (shown, all) = shown_of(report);
        if shown < all {
            stderr::note(&format!(
                "pictures of {shown} of {all} cases; --format csv has all figures"
            ));
        }
        for picture in pictures(report, options.grid.as_ref()) {
            put(&folder.join(format!("{}.svg", picture.name)), picture.to_svg().as_bytes())?;
            let path = folder.join(format!("{}.png", picture.name));
            let png = picture.to_png().map_err(|error| failed(&path, &io::Error::other(error)))?;
            put(&path, &png)?;
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
fn command() -> String {
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
}
