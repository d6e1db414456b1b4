//! The states of a breaker: closed, open, half-open and ramp, and the moves between them.

use alloc::vec::Vec;

use super::plan::{BreakerPlan, RampPlan};
use super::trip::Trip;
use super::window::{Call, CallWindow, Counts};
use crate::entropy::Entropy;
use crate::ratio::Ratio;
use crate::time::{Instant, Span};

/// The state of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateKind {
    /// Everybody is admitted.
    Closed,
    /// Nobody is admitted.
    Open,
    /// A few probes are admitted.
    HalfOpen,
    /// Closed again, admitting a growing share.
    Ramp,
}

/// A move that a report caused. The moves that time alone causes, open to half-open and ramp to
/// closed, happen when they are next looked at, and show in [`Breaker::state`](super::Breaker::state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a transition is worth an event"]
pub enum Transition {
    /// To open.
    Opened {
        /// The rule that was broken.
        trip: Trip,
        /// The time at which the first probe may start.
        until: Instant,
    },
    /// To closed, with empty counters; the ramp, if there is one, ends at `ramp_ends`.
    Closed {
        /// The time from which every call is admitted again, if not immediately.
        ramp_ends: Option<Instant>,
    },
}

/// A state and its own fields.
#[derive(Clone, Debug)]
pub(super) enum BreakerState {
    Closed(Closed),
    Open(Open),
    HalfOpen(HalfOpen),
    Ramp(Ramp),
}

/// The counters of a closed breaker.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    window: CallWindow,
    consecutive: u32,
    /// Admitted calls that have not reported. Never are more results counted than calls were
    /// admitted, so a ticket that is reported twice cannot open a breaker by itself.
    unsettled: u32,
}

impl Closed {
    /// No calls yet.
    pub(super) fn new(plan: &BreakerPlan) -> Self {
        Self { window: CallWindow::new(plan.window), consecutive: 0, unsettled: 0 }
    }

    #[inline]
    pub(super) fn admit(&mut self) {
        self.unsettled = self.unsettled.saturating_add(1);
    }

    /// Counts a call (`None`: it says nothing) and answers the rule that is broken now.
    #[inline]
    pub(super) fn settle(
        &mut self,
        plan: &BreakerPlan,
        now: Instant,
        call: Option<Call>,
    ) -> Option<Trip> {
        self.unsettled = self.unsettled.checked_sub(1)?;
        let call = call?;
        self.consecutive = if call.failed { self.consecutive.saturating_add(1) } else { 0 };
        let counts = self.window.record(now, call);
        plan.broken_by(counts, self.consecutive)
    }

    pub(super) fn counts(&self, now: Instant) -> Counts {
        self.window.counts(now)
    }

    pub(super) const fn consecutive(&self) -> u32 {
        self.consecutive
    }
}

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

/// The most by which an open time is stretched: half of itself, so that the probes of a fleet that was
/// cut off at one moment do not come back at one moment. Never shortened.
const SPREAD: Ratio = Ratio::from_percent(50);

/// The end of an open time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    until: Instant,
}

impl Open {
    /// Open from `now` for U[t, 1.5 t]; takes one word.
    pub(super) fn new<E: Entropy>(now: Instant, t: Span, entropy: &mut E) -> Self {
        Self { until: now + entropy.draw(t, t + SPREAD.of_span(t)) }
    }

    /// Open until a known end.
    pub(super) const fn until_instant(until: Instant) -> Self {
        Self { until }
    }

    pub(super) const fn until(self) -> Instant {
        self.until
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        now >= self.until
    }
}

/// A closed breaker behind a gate that opens slowly.
///
/// The gate is an accumulator: each caller adds the share of the moment, and the one that fills it
/// up goes through. So a share of 10 % is every tenth caller, exactly and without chance.
#[derive(Clone, Debug)]
pub(super) struct Ramp {
    pub(super) closed: Closed,
    plan: RampPlan,
    started: Instant,
    filled_ppm: u32,
}

impl Ramp {
    /// Starts filled, so the first caller goes through.
    pub(super) const fn new(closed: Closed, plan: RampPlan, now: Instant) -> Self {
        Self { closed, plan, started: now, filled_ppm: Ratio::SCALE }
    }

    /// `Err` holds the end of the ramp.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Instant> {
        // OK because the sum is at most twice SCALE: what is over a whole leaves right below.
        self.filled_ppm = (self.filled_ppm + self.share_ppm(now)).min(2 * Ratio::SCALE - 1);
        if self.filled_ppm < Ratio::SCALE {
            return Err(self.ends());
        }
        self.filled_ppm -= Ratio::SCALE;
        self.closed.admit();
        Ok(())
    }

    pub(super) fn ends(&self) -> Instant {
        self.started + self.plan.over
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        now >= self.ends()
    }

    /// The share admitted at `now`, growing in a straight line.
    fn share_ppm(&self, now: Instant) -> u32 {
        let gone = u128::from((now - self.started).as_nanos());
        let rise = u128::from(Ratio::SCALE.saturating_sub(self.plan.from.ppm()));
        let risen = rise * gone / u128::from(self.plan.over.as_nanos().max(1));
        u32::try_from(risen)
            .unwrap_or(Ratio::SCALE)
            .saturating_add(self.plan.from.ppm())
            .min(Ratio::SCALE)
    }
}
