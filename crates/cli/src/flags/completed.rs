//! Values that completions offer, for flags whose own parser says what is wrong with a value.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// The jitter laws without a share.
pub(crate) const LAWS: [&str; 5] =
    ["none", "full", "equal", "decorrelated", "decorrelated-clamped"];

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

/// Reads by `read`, and offers the values to whoever completes.
#[derive(Clone)]
pub(crate) struct Offers<T> {
    values: Vec<&'static str>,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Offers<T> {
    pub(crate) fn of(values: &[&'static str], read: fn(&str) -> Result<T, String>) -> Self {
        Self { values: values.to_vec(), read }
    }
}

/// A name of a preset; an unknown one is refused where presets are made.
pub(crate) fn preset() -> Offers<String> {
    Offers::of(&PRESETS, |text| Ok(text.to_owned()))
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Offers<T> {
    type Value = T;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let read = self.read;
        StringValueParser::new().try_map(move |text| read(&text)).parse_ref(cmd, arg, value)
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
