//! `[calls.NAME]`: what is known of the calls under a policy.

use std::ops::Range;

use stagger_explain::{Code, Setting};
use stagger_text::nearest;
use toml::de::DeValue;

use super::bounds::{CAPACITY, FLEET, LAYERS, RPS};
use crate::toml_file::{Flaw, Reader, refused};

/// Facts about the calls, and the findings that are accepted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) setting: Setting,
    /// The findings that are accepted, with the places where that is said.
    pub(crate) allow: Vec<(Code, Range<usize>)>,
}

impl Calls {
    /// Whether findings of this code are accepted.
    pub(crate) fn allows(&self, code: Code) -> bool {
        self.allow.iter().any(|(allowed, _)| *allowed == code)
    }
}

/// Reads one table; what is wrong goes to `flaws`, and the rest is kept.
pub(super) fn read(reader: &Reader<'_, '_>, flaws: &mut Vec<Flaw>) -> Calls {
    let setting = Setting {
        slo: kept(reader.above_zero("slo"), flaws),
        rps: kept(reader.number("rps", RPS), flaws),
        fleet: kept(reader.count("fleet", FLEET), flaws),
        downstream_capacity: kept(reader.number("downstream_capacity", CAPACITY), flaws),
        layers: kept(reader.count("layers", LAYERS), flaws),
        idempotent: kept(reader.boolean("idempotent"), flaws),
    };
    let allow = kept(reader.list("allow"), flaws).unwrap_or_default();
    let mut codes = Vec::new();
    for value in allow {
        let name = reader.name("allow");
        match value.get_ref() {
            DeValue::String(text) => match text.parse() {
                Ok(Code::UnusedAllow) => {
                    flaws.push(refused(&name, value, "another code than this"));
                }
                Ok(code) => codes.push((code, value.span())),
                Err(_) => flaws.push(refused(&name, value, &bound(text))),
            },
            _ => flaws.push(refused(&name, value, "the code of a finding, in quotes")),
        }
    }
    flaws.extend(reader.unknown());
    Calls { setting, allow: codes }
}

fn kept<T>(read: Result<Option<T>, Flaw>, flaws: &mut Vec<Flaw>) -> Option<T> {
    read.unwrap_or_else(|flaw| {
        flaws.push(flaw);
        None
    })
}

fn bound(name: &str) -> String {
    match nearest(name, Code::ALL.iter().map(|code| code.name())) {
        Some(near) => format!("the code of a finding; did you mean {near}?"),
        None => "the code of a finding, as docs/lint.md lists them".to_owned(),
    }
}
