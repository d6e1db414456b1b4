//! `stagger completions`: a script for a shell.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::flags::{CompletedShell, CompletionsFlags, Flags};
use crate::stdout;

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
    stdout::write(&match flags.shell {
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
