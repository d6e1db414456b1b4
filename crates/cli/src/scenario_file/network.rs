//! `[network]`: how long an attempt or an answer is under way.

use crate::toml_file::{Flaw, Reader};
use stagger_sim::Hop;

/// No time at all, unless `hop` says otherwise.
pub(super) fn read(reader: &Reader<'_, '_>) -> Result<Hop, Flaw> {
    let Some(network) = reader.table("network")? else { return Ok(Hop::None) };
    let hop = network.above_zero("hop")?;
    let exponential = network.word("law", &[("fixed", false), ("exponential", true)])?;
    network.done()?;
    Ok(match (hop, exponential.unwrap_or(false)) {
        (None, _) => Hop::None,
        (Some(hop), false) => Hop::Fixed(hop),
        (Some(hop), true) => Hop::Exponential(hop),
    })
}
