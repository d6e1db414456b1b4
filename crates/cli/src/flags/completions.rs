//! The flags of `completions` and `man`, and the values that completions offer.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, Error, ValueEnum};

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

/// The presets, as the command line spells them.
const PRESETS: [&str; 9] = [
    "aws-standard",
    "aws-standard-2-0",
    "aws-standard-2-1",
    "aws-dynamodb",
    "grpc",
    "google-cloud",
    "webhook",
    "interactive",
    "batch",
];

/// Reads as `parser` does, and offers the values to completions.
#[derive(Clone)]
pub(crate) struct Offers<P> {
    values: Vec<&'static str>,
    parser: P,
}

impl<P: TypedValueParser> Offers<P> {
    pub(crate) fn of(values: &[&'static str], parser: P) -> Self {
        Self { values: values.to_vec(), parser }
    }
}

/// A parser of values that are text.
pub(crate) fn text<T: Clone + Send + Sync + 'static>(
    read: fn(&str) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    StringValueParser::new().try_map(move |text| read(&text))
}

/// A name of a preset; an unknown one is refused where presets are made.
pub(crate) fn preset() -> impl TypedValueParser<Value = String> {
    Offers::of(&PRESETS, StringValueParser::new())
}

impl<P: TypedValueParser> TypedValueParser for Offers<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        cmd: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        self.parser.parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().copied().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::PRESETS;

    #[test]
    fn every_preset_is_offered() {
        assert_eq!(PRESETS.map(|name| name.replace('-', "_")), stagger_core::Policy::PRESETS);
    }
}
