//! `[[fault]]`: what goes wrong with the server, and when.

use stagger_core::Instant;
use stagger_sim::{Backend, Fault, Trouble};

use super::arrivals::instant;
use super::server::MAX_FACTOR;
use crate::toml_file::{Flaw, Reader};

#[derive(Clone, Copy)]
enum FaultKind {
    Refuse,
    PortClosed,
    Hang,
    Silence,
    Stall,
    Failing,
    Slow,
}

const KINDS: [(&str, FaultKind); 7] = [
    ("refuse", FaultKind::Refuse),
    ("port-closed", FaultKind::PortClosed),
    ("hang", FaultKind::Hang),
    ("silence", FaultKind::Silence),
    ("stall", FaultKind::Stall),
    ("failing", FaultKind::Failing),
    ("slow", FaultKind::Slow),
];

/// Any number of them.
pub(super) fn read(reader: &Reader<'_, '_>, backend: &Backend) -> Result<Vec<Fault>, Flaw> {
    reader.tables("fault")?.iter().map(|fault| one(fault, backend)).collect()
}

fn one(table: &Reader<'_, '_>, backend: &Backend) -> Result<Fault, Flaw> {
    let kind = table.need("kind", table.word("kind", &KINDS)?)?;
    let from = instant(table, "from")?.unwrap_or(Instant::ORIGIN);
    let until = until(table, from)?;
    let shard = table.count("shard", (0, backend.shards - 1))?;
    let trouble = match kind {
        FaultKind::Refuse => match table.span("retry_after")? {
            Some(after) => Trouble::RefuseFor(after),
            None => Trouble::Refuse,
        },
        FaultKind::PortClosed => Trouble::PortClosed,
        FaultKind::Hang => Trouble::Hang,
        FaultKind::Silence => Trouble::Silence,
        FaultKind::Stall => Trouble::Stall,
        FaultKind::Failing => {
            Trouble::Failing(table.need("share", table.ratio("share", (0.0, 1.0))?)?)
        }
        FaultKind::Slow => {
            Trouble::Slow(table.need("factor", table.ratio("factor", (1.0, MAX_FACTOR))?)?)
        }
    };
    table.done()?;
    if matches!(kind, FaultKind::Hang | FaultKind::Stall) && until == Instant::FAR {
        return Err(table.flaw("a hang or a stall must end: set lasts or until"));
    }
    Ok(Fault { from, until, shard, trouble })
}

/// Said as a length or as a time, or never.
fn until(table: &Reader<'_, '_>, from: Instant) -> Result<Instant, Flaw> {
    match (table.span("lasts")?, instant(table, "until")?) {
        (Some(_), Some(_)) => Err(table.wrong("lasts", "left out beside until")),
        (Some(lasts), None) => Ok(from + lasts),
        (None, Some(until)) if until < from => Err(table.wrong("until", "at or after from")),
        (None, Some(until)) => Ok(until),
        (None, None) => Ok(Instant::FAR),
    }
}
