//! The answer to "may I call?", and the ticket that a call carries until it reports.

use crate::time::Instant;

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an admitted call must report, and a refused one must not be made"]
pub enum Admission {
    /// Call, and hand the ticket back with the report.
    Admitted(Ticket),
    /// Do not call: no network, no budget.
    Refused {
        /// Asking again before this instant is in vain: the end of the open time, of the first
        /// probe's lease, or of the ramp. An earlier report may still free a place sooner.
        until: Instant,
    },
}

impl Admission {
    /// The ticket, when admitted.
    #[must_use]
    pub const fn ticket(self) -> Option<Ticket> {
        match self {
            Self::Admitted(ticket) => Some(ticket),
            Self::Refused { .. } => None,
        }
    }
}

/// The proof of one admission: plain data, to be handed back with the report.
///
/// A ticket that is lost costs at most a probe's lease. One that comes back late, twice, or after
/// the breaker has moved on changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(super) generation: u64,
    pub(super) admitted_at: Instant,
    /// Its serial number. As wide as the rest, or every copy of a ticket would store words that the
    /// next read straddles, which costs more than all else in an admission.
    pub(super) probe: Option<u64>,
}

impl Ticket {
    /// The ticket of a ledger without a breaker: reporting it changes nothing, because no breaker
    /// reaches its generation.
    pub const NEUTRAL: Self =
        Self { generation: u64::MAX, admitted_at: Instant::ORIGIN, probe: None };

    /// The ticket of a call admitted by a closed breaker of this generation: for whoever keeps the
    /// counts of a closed breaker in its own way, and moves it with [`Breaker::trip`].
    ///
    /// [`Breaker::trip`]: super::Breaker::trip
    #[must_use]
    pub const fn of_closed(generation: u64, admitted_at: Instant) -> Self {
        Self { generation, admitted_at, probe: None }
    }

    /// The ticket of a probe that was granted elsewhere, such as by a fleet's store, under its number.
    /// No breaker of this process reaches its generation, so reporting it to one changes nothing.
    #[must_use]
    pub const fn of_probe(number: u64, admitted_at: Instant) -> Self {
        Self { generation: Self::NEUTRAL.generation, admitted_at, probe: Some(number) }
    }

    /// The number of a probe that was granted elsewhere: the one given to [`of_probe`](Self::of_probe).
    #[must_use]
    pub const fn foreign_probe(self) -> Option<u64> {
        if self.generation == Self::NEUTRAL.generation { self.probe } else { None }
    }

    /// The generation of the breaker that admitted the call.
    #[must_use]
    pub const fn generation(self) -> u64 {
        self.generation
    }

    /// The time at which the call was admitted; its latency counts from here.
    #[must_use]
    pub const fn admitted_at(self) -> Instant {
        self.admitted_at
    }

    /// Whether the call is a probe of a half-open breaker.
    #[must_use]
    pub const fn is_probe(self) -> bool {
        self.probe.is_some()
    }
}
