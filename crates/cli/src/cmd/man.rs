//! `stagger man`: a manual page for each command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::command_error::CommandError;
use crate::flags::{Flags, ManFlags};
use crate::stdout;

/// Prints the first page, or writes all of them.
///
/// # Errors
/// A page that cannot be written.
pub(crate) fn man(flags: &ManFlags) -> Result<ExitCode, CommandError> {
    match &flags.dir {
        None => Ok(stdout::write(&page(&root()))),
        Some(folder) => write(folder).map(|()| ExitCode::SUCCESS),
    }
}

fn root() -> Command {
    let mut root = Flags::command().disable_help_subcommand(true);
    root.build();
    root
}

/// Writes all pages, each of them whole or not at all.
fn write(folder: &Path) -> Result<(), CommandError> {
    let mut pages = Vec::new();
    collect(&root(), &mut pages);
    let failed =
        |path: PathBuf| |error: io::Error| CommandError::Unwritten(path, error.to_string());
    fs::create_dir_all(folder).map_err(failed(folder.to_path_buf()))?;
    for (name, page) in pages {
        let place = folder.join(&name);
        let made = folder.join(format!(".{name}.{}.part", std::process::id()));
        let put = fs::write(&made, page).and_then(|()| fs::rename(&made, &place));
        if put.is_err() {
            // What was not put in place is not left behind.
            let _ = fs::remove_file(&made);
        }
        put.map_err(failed(place))?;
    }
    Ok(())
}

fn collect(command: &Command, pages: &mut Vec<(String, String)>) {
    pages.push((Man::new(command.clone()).get_filename(), page(command)));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages);
    }
}

/// One page. Its examples keep their lines, which is why they are no section of `clap_mangen`'s.
fn page(command: &Command) -> String {
    let man = Man::new(command.clone()).manual("stagger");
    let mut page = Vec::new();
    let rendered = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| match command.has_subcommands() {
            true => man.render_subcommands_section(&mut page),
            false => Ok(()),
        });
    rendered.expect("a vector takes all");
    let page = String::from_utf8_lossy(&page).into_owned();
    match command.get_after_help() {
        Some(examples) => page + &verbatim(&examples.to_string()),
        None => page,
    }
}

/// A section whose lines stay as they are: its heading is the text's first line.
fn verbatim(text: &str) -> String {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default().trim_end_matches(':').to_uppercase();
    let line = |line: &str| format!("\\&{}\n", line.replace('\\', "\\e").replace('-', "\\-"));
    format!(".SH {heading}\n.nf\n{}.fi\n", lines.map(line).collect::<String>())
}
