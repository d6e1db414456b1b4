//! One scenario file that ships, and the list of them all.

use super::models::MODELS;
use super::outages::OUTAGES;

/// A scenario file that is part of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShippedScenario {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// One line for the list.
    pub(crate) about: &'static str,
    /// The scenario file, in TOML.
    pub(crate) text: &'static str,
}

impl ShippedScenario {
    /// All of them: outages that happened, the latest first, and then parts of servers and users.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        OUTAGES.into_iter().chain(MODELS).map(|(name, about, text)| Self { name, about, text })
    }

    /// The scenario of this name, whatever its case.
    pub(crate) fn find(name: &str) -> Option<Self> {
        Self::all().find(|shipped| shipped.name.eq_ignore_ascii_case(name))
    }
}
