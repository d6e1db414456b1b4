//! The flags of `stagger completions` and `stagger man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  stagger completions bash > ~/.local/share/bash-completion/completions/stagger
  stagger completions zsh > ~/.zfunc/_stagger   with ~/.zfunc in fpath
  stagger completions fish > ~/.config/fish/completions/stagger.fish";

/// The end of the help of `stagger man`.
pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  stagger man --dir /usr/local/share/man/man1   one page a command
  stagger man | man -l -                        read the first one at once";

/// The flags of `stagger completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsFlags {
    /// The shell that reads the script
    #[arg(value_enum)]
    pub(crate) shell: CompletedShell,
}

/// Shells that completions are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletedShell {
    /// source <(stagger completions bash)
    Bash,
    /// into a file named _stagger, in a folder of fpath
    Zsh,
    /// into ~/.config/fish/completions/stagger.fish
    Fish,
}

/// The flags of `stagger man`.
#[derive(Debug, Args)]
pub(crate) struct ManFlags {
    /// Write a page for each command into this folder, instead of the first page to standard output
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}
