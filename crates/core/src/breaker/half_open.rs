//! Half-open: exactly as many probes as the plan says, each on a lease.

use alloc::vec::Vec;

use super::window::Call;
use crate::time::{Instant, Span};

/// The probes under way, and how many came back good.
///
/// Probes under way and good ones together are never more than the plan's number.
#[derive(Clone, Debug)]
pub(super) struct HalfOpen {
    under_way: Vec<Probe>,
    good: u32,
    serial: u64,
    wanted: u32,
    lease: Span,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    serial: u64,
    lease_ends: Instant,
}

/// The decision of the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    AllGood,
    OneBad,
}

impl HalfOpen {
    pub(super) const fn new(wanted: u32, lease: Span) -> Self {
        Self { under_way: Vec::new(), good: 0, serial: 0, wanted, lease }
    }

    /// The serial number of a new probe, or the instant at which the first lease ends.
    pub(super) fn admit(&mut self, now: Instant) -> Result<u64, Instant> {
        self.lapse(now);
        // OK because there are at most `wanted` probes, and that is a u32.
        #[expect(clippy::cast_possible_truncation, reason = "never more than `wanted`")]
        if self.under_way.len() as u32 + self.good >= self.wanted {
            let first = self.under_way.iter().map(|probe| probe.lease_ends).min();
            return Err(first.unwrap_or(now));
        }
        self.serial = self.serial.wrapping_add(1);
        self.under_way.push(Probe { serial: self.serial, lease_ends: now + self.lease });
        Ok(self.serial)
    }

    /// Takes a probe's result (`None`: it says nothing, and its place is free at once).
    ///
    /// A probe whose lease has ended is no longer heard: its place may be another's by now.
    pub(super) fn settle(
        &mut self,
        now: Instant,
        serial: Option<u64>,
        call: Option<Call>,
    ) -> Option<Decision> {
        self.lapse(now);
        let place = self.under_way.iter().position(|probe| Some(probe.serial) == serial)?;
        self.under_way.swap_remove(place);
        let call = call?;
        if call.failed || call.slow {
            return Some(Decision::OneBad);
        }
        self.good += 1;
        (self.good >= self.wanted).then_some(Decision::AllGood)
    }

    fn lapse(&mut self, now: Instant) {
        self.under_way.retain(|probe| now < probe.lease_ends);
    }
}
