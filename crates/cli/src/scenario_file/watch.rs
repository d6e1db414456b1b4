//! `[watch]`: where peaks are looked for, and when the storm is over.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{Fault, FirstTriesRule, MeasurementPlan, Recovery, Stretch};

use super::arrivals::instant;
use crate::toml_file::{Flaw, Reader};

/// Some hours of buckets are more than anybody waits for.
const MAX_ROW: u32 = 10_000;

/// From the end of the last fault on, until the last call is served, unless the table says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>, faults: &[Fault]) -> Result<MeasurementPlan, Flaw> {
    let ends = faults.iter().map(|fault| fault.until).filter(|&until| until < Instant::FAR);
    let last = ends.max().unwrap_or(Instant::ORIGIN);
    let Some(table) = reader.table("watch")? else {
        return Ok(watch(last, None, Recovery::Drained));
    };
    let edge = instant(&table, "edge")?.unwrap_or(last);
    let from = instant(&table, "peak_from")?;
    let recovery = recovery(&table)?;
    table.done()?;
    Ok(watch(edge, from, recovery))
}

fn watch(edge: Instant, from: Option<Instant>, recovery: Recovery) -> MeasurementPlan {
    let before = Stretch { from: Instant::ORIGIN, until: edge };
    MeasurementPlan {
        evenness_in: None,
        edge,
        peak_from: from,
        retries_in: if edge > Instant::ORIGIN { before } else { Stretch::ALWAYS },
        recovery,
    }
}

fn recovery(table: &Reader<'_, '_>) -> Result<Recovery, Flaw> {
    let first_tries = table.word("recovery", &[("drained", false), ("first-tries", true)])?;
    let bucket = table.above_zero("bucket")?;
    let row = table.count("row", (1, MAX_ROW))?;
    let share = table.ratio("share", (0.0, 1.0))?;
    let within = table.span("within")?;
    if first_tries == Some(true) {
        return Ok(Recovery::FirstTries(FirstTriesRule {
            bucket: bucket.unwrap_or(Span::from_millis(500)),
            row: row.unwrap_or(10),
            share: share.unwrap_or(Ratio::from_percent(99)),
            within: within.unwrap_or(Span::from_secs(70)),
        }));
    }
    for (key, given) in [
        ("bucket", bucket.is_some()),
        ("row", row.is_some()),
        ("share", share.is_some()),
        ("within", within.is_some()),
    ] {
        if given {
            return Err(table.wrong(key, "set together with recovery = \"first-tries\""));
        }
    }
    Ok(Recovery::Drained)
}
