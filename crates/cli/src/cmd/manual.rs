//! `stagger man` and `stagger completions`: a manual page for each command, and a script for a shell.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::command_error::CommandError;
use crate::flags::{CompletedShell, CompletionsFlags, Flags, ManFlags};
use crate::streams;

/// Prints the first page, or writes all of them.
///
/// # Errors
/// A page that cannot be written.
pub(crate) fn man(flags: &ManFlags) -> Result<ExitCode, CommandError> {
    match &flags.dir {
        None => Ok(streams::write(&page(&root()))),
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

/// Prints the script.
pub(crate) fn completions(flags: &CompletionsFlags) -> ExitCode {
    let shell = match flags.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Flags::command(), "stagger", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    streams::write(&match flags.shell {
        CompletedShell::Bash => with_commands(&script),
        CompletedShell::Zsh | CompletedShell::Fish => script,
    })
}

/// The script for bash, which completes a command of its own behind `exec --`: by its completion where
/// bash-completion is there, else by the names of commands and files.
fn with_commands(script: &str) -> String {
    const COMMANDS: &str = r#"
_stagger() {
    local at
    if [[ "${COMP_WORDS[1]}" == exec ]]; then
        for ((at = 2; at < COMP_CWORD; at++)); do
            [[ "${COMP_WORDS[at]}" == -- ]] || continue
            if declare -F _command_offset >/dev/null; then
                _command_offset $((at + 1))
            elif ((COMP_CWORD == at + 1)); then
                COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
            else
                COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
            fi
            return 0
        done
    fi
    _stagger_words "$@"
}
"#;
    script.replacen("_stagger() {", "_stagger_words() {", 1) + COMMANDS
}
