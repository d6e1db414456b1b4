//! `[[bystanders]]`: other callers of the same server, which are not compared.

use stagger_core::{Policy, Span};
use stagger_sim::{Bystanders, Law, Schedule};

use super::{arrivals, layer};
use crate::toml_file::{Flaw, Reader};

/// Any number of them. One that has neither law nor policy never retries; the names of policies that
/// they use go to `used`.
pub(super) fn read(
    reader: &Reader<'_, '_>,
    policies: &[(String, Policy)],
    defaults: (Schedule, Option<Span>),
    used: &mut Vec<String>,
) -> Result<Vec<Bystanders>, Flaw> {
    let tables = reader.tables("bystanders")?;
    arrivals::bounded_list(reader, "bystanders", tables.len())?;
    let mut all = Vec::new();
    for table in &tables {
        let arrivals = arrivals::one(table)?;
        let caller = match layer::settled(table, policies, defaults, used)? {
            Some(caller) => caller,
            None => never(table, defaults)?,
        };
        table.done()?;
        all.push(Bystanders { arrivals, caller });
    }
    Ok(all)
}

/// A caller that never retries, and waits for an answer as long as those that are compared.
fn never(
    table: &Reader<'_, '_>,
    (schedule, timeout): (Schedule, Option<Span>),
) -> Result<stagger_sim::CallerLayer, Flaw> {
    let caller = Law::NoRetry.caller(&schedule).map_err(|error| table.flaw(&error.to_string()))?;
    let timeout = table.above_zero("timeout")?.or(timeout);
    Ok(match timeout {
        Some(timeout) => caller.with_timeout(timeout),
        None => caller,
    })
}
