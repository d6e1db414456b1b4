//! All policies of a file, and all that is wrong with it: one that is refused hides no other.

use std::collections::BTreeMap;
use std::ops::Range;

use stagger_core::Policy;
use toml::de::DeValue;

use super::calls::{self, Calls};
use crate::spelling::nearest;
use crate::toml_file::{Document, Flaw, Reader, Value, engine, holds, place};

/// The tables of a file of named policies.
const TABLES: [&str; 2] = ["policy", "calls"];
/// Every scenario has this one: what else stands beside it is the scenario's.
const SCENARIO: &str = "arrivals";

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Survey<'t> {
    /// The policies that can be built.
    pub(crate) policies: Vec<Surveyed<'t>>,
    /// Everything else, in the order of the file.
    pub(crate) flaws: Vec<Flaw>,
}

/// A policy, and what is known of its calls.
#[derive(Debug)]
pub(crate) struct Surveyed<'t> {
    /// None for a file that is one whole policy.
    pub(crate) name: Option<String>,
    pub(crate) policy: Policy,
    pub(crate) calls: Calls,
    table: Value<'t>,
}

impl Surveyed<'_> {
    /// Where a key stands, or the innermost table on the way, or the header of the policy.
    pub(crate) fn place(&self, key: &str) -> Range<usize> {
        place(key, &self.table).unwrap_or_else(|| match self.name {
            Some(_) => self.table.span(),
            None => 0..0,
        })
    }
}

/// Reads everything that can be read.
pub(crate) fn survey<'t>(document: &Document<'t>) -> Survey<'t> {
    let reader = document.reader();
    let mut survey = Survey::default();
    if reader.names().any(|(name, _)| TABLES.contains(&name)) {
        survey.named(&reader);
    } else {
        survey.add(None, &reader.whole(), String::new(), Calls::default());
    }
    survey.flaws.sort_by_key(|flaw| (flaw.at().start, flaw.at().end));
    survey
}

impl<'t> Survey<'t> {
    fn named(&mut self, reader: &Reader<'_, 't>) {
        let mut calls = self.calls(reader);
        match reader.table("policy") {
            Err(flaw) => self.flaws.push(flaw),
            Ok(None) => {
                let message = "[calls.NAME] goes with [policy.NAME], and there is none";
                self.flaws.push(Flaw::new(first(reader), message));
            }
            Ok(Some(tables)) => {
                let names: Vec<&str> = tables.names().map(|(name, _)| name).collect();
                for (name, value) in tables.names() {
                    let (_, calls) = calls.remove(name).unwrap_or_default();
                    self.add(Some(name.to_owned()), value, tables.name(name), calls);
                }
                self.flaws
                    .extend(calls.into_iter().map(|(name, (at, _))| strange(name, at, &names)));
            }
        }
        if reader.value(SCENARIO).is_none() {
            self.flaws.extend(reader.unknown());
        }
    }

    /// The tables `[calls.NAME]` by their names.
    fn calls<'r>(&mut self, reader: &Reader<'r, 't>) -> BTreeMap<&'r str, (Range<usize>, Calls)> {
        let tables = match reader.table("calls") {
            Ok(None) => return BTreeMap::new(),
            Ok(Some(tables)) => tables,
            Err(flaw) => {
                self.flaws.push(flaw);
                return BTreeMap::new();
            }
        };
        let mut read = BTreeMap::new();
        for (name, value) in tables.names() {
            match value.get_ref() {
                DeValue::Table(table) => {
                    let reader = Reader::new(tables.name(name), value.span(), table);
                    let calls = calls::read(&reader, &mut self.flaws);
                    read.insert(name, (value.span(), calls));
                }
                _ => self.flaws.push(Flaw::new(
                    value.span(),
                    format!("{}: must be a table", tables.name(name)),
                )),
            }
        }
        read
    }

    /// Builds a policy; when a part of it is refused, the other parts are still looked at.
    fn add(&mut self, name: Option<String>, table: &Value<'t>, path: String, calls: Calls) {
        let mut rest = table.clone();
        let mut refused = false;
        loop {
            match engine::<Policy>(&path, &rest) {
                Ok(policy) if !refused => {
                    let table = table.clone();
                    return self.policies.push(Surveyed { name, policy, calls, table });
                }
                Ok(_) => return,
                Err(flaw) => {
                    refused = true;
                    let DeValue::Table(parts) = rest.get_mut() else {
                        return self.flaws.push(flaw);
                    };
                    let wrong = parts.iter().find(|(key, value)| {
                        key.span().contains(&flaw.at().start) || holds(value, flaw.at().start)
                    });
                    let wrong = wrong.map(|(key, _)| key.get_ref().to_string());
                    self.flaws.push(flaw);
                    match wrong {
                        Some(key) => parts.remove(key.as_str()),
                        None => return,
                    };
                }
            }
        }
    }
}

/// Calls of a policy that there is not.
fn strange(name: &str, at: Range<usize>, names: &[&str]) -> Flaw {
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", names.join(", ")),
    };
    Flaw::new(at, format!("[calls.{name}] is of no [policy.{name}]: {hint}"))
}

fn first(reader: &Reader<'_, '_>) -> Range<usize> {
    reader.names().map(|(_, value)| value.span()).min_by_key(|at| at.start).unwrap_or(0..0)
}
