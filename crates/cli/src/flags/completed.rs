//! Values that completions offer, for flags whose own parser says what is wrong with a value.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// The presets, as the command line spells them.
const PRESETS: [&str; 8] = [
    "aws-standard",
    "aws-standard-2-0",
    "aws-standard-2-1",
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
