//! `[[layer]]`: services that call services, the outermost first; the last calls the server.

use stagger_core::{Policy, Span};
use stagger_sim::{CallerLayer, Law, Schedule};

use super::laws::schedule;
use crate::toml_file::{Flaw, Reader};

/// Each multiplies the attempts of the one before it.
const MAX_LAYERS: usize = 8;

/// One service.
#[derive(Clone, Debug)]
pub(super) enum Layer {
    /// The one whose law or policy is compared.
    Compared,
    /// One that always retries in the same way.
    Settled(Box<CallerLayer>),
}

/// The layers, and the names of the policies that they use. One compared layer when none is written.
pub(super) fn read(
    reader: &Reader<'_, '_>,
    policies: &[(String, Policy)],
    defaults: (Schedule, Option<Span>),
) -> Result<(Vec<Layer>, Vec<String>), Flaw> {
    let tables = reader.tables("layer")?;
    if tables.is_empty() {
        return Ok((vec![Layer::Compared], Vec::new()));
    }
    if tables.len() > MAX_LAYERS {
        return Err(reader.wrong("layer", &format!("at most {MAX_LAYERS} layers")));
    }
    let mut used = Vec::new();
    let mut layers = Vec::new();
    for table in &tables {
        layers.push(match settled(table, policies, defaults, &mut used)? {
            Some(caller) => Layer::Settled(Box::new(caller)),
            None => Layer::Compared,
        });
        table.done()?;
    }
    if !layers.iter().any(|layer| matches!(layer, Layer::Compared)) {
        return Err(
            reader.wrong("layer", "a list in which one has neither law nor policy: it is compared")
        );
    }
    Ok((layers, used))
}

/// The caller that a table names by its law or its policy; `None` where it names neither. The names
/// of policies go to `used`.
pub(super) fn settled(
    table: &Reader<'_, '_>,
    policies: &[(String, Policy)],
    defaults: (Schedule, Option<Span>),
    used: &mut Vec<String>,
) -> Result<Option<CallerLayer>, Flaw> {
    let law = table.word("law", &Law::ALL.map(|law| (law.name(), law)))?;
    let policy = table.text("policy")?;
    match (law, policy) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(table.wrong("law", "left out beside policy")),
        (Some(law), None) => {
            let schedule = schedule(table, defaults.0)?;
            let caller = law.caller(&schedule).map_err(|error| table.flaw(&error.to_string()))?;
            Ok(Some(match table.above_zero("timeout")?.or(defaults.1) {
                Some(timeout) => caller.with_timeout(timeout),
                None => caller,
            }))
        }
        (None, Some(name)) => match policies.iter().find(|(known, _)| known == name) {
            Some((_, policy)) => {
                used.push(name.to_owned());
                Ok(Some(CallerLayer::new(*policy)))
            }
            None => Err(table.wrong("policy", "the name of a table [policy.NAME]")),
        },
    }
}
