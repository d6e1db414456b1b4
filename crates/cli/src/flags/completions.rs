//! The flags of `stagger completions` and `stagger man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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
