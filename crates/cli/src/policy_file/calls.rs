//! `[calls.NAME]`: facts about the calls under a policy, with their bounds in files and in flags.

use std::ops::Range;

use stagger_explain::{Code, Setting};
use stagger_text::nearest;
use stagger_text::settings::{Flaw, Reader, refused};
use toml::de::DeValue;

/// First attempts a second of one process: one a day is no retry storm, and no process makes more
/// than some millions.
pub(crate) const RPS: (f64, f64) = (0.000_01, 1e9);
/// Processes that call the same destination.
pub(crate) const FLEET: (u32, u32) = (1, 10_000_000);
/// Calls a second that a destination serves.
pub(crate) const CAPACITY: (f64, f64) = (0.000_01, 1e12);
/// Services one above the other: a longer chain is a slip of a digit.
pub(crate) const LAYERS: (u32, u32) = (1, 16);

/// Facts about the calls, and the findings that are accepted.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallFacts {
    pub(crate) setting: Setting,
    /// The findings that are accepted, with the places where that is said.
    pub(crate) allow: Vec<(Code, Range<usize>)>,
}

impl CallFacts {
    /// Whether findings of this code are accepted.
    pub(crate) fn allows(&self, code: Code) -> bool {
        self.allow.iter().any(|(allowed, _)| *allowed == code)
    }
}

/// Reads one table; what is wrong goes to `flaws`, and the rest is kept.
pub(super) fn read(reader: &Reader<'_, '_>, flaws: &mut Vec<Flaw>) -> CallFacts {
    let setting = Setting {
        slo: kept(reader.above_zero("slo"), flaws),
        p99: kept(reader.above_zero("p99"), flaws),
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
    CallFacts { setting, allow: codes }
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
