//! The rate limits of an endpoint.

use std::num::NonZeroU32;

use stagger_core::{Ratio, Span};

/// The bounds of an endpoint's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The most attempts in flight.
    pub concurrency: NonZeroU32,
    /// Attempts a second, if there is a cap.
    pub rate: Option<NonZeroU32>,
    /// The rate of a recovery after an outage.
    pub recovery: Recovery,
}

/// The rate at which a backlog is sent once the endpoint has recovered: slowly at first, then
/// faster.
///
/// From the recovery on the rate is `from` of `rate`, and grows evenly to all of it within `over`.
/// Then it doubles with every further `over`, until nothing is left to catch up with, or the
/// endpoint's own cap is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The share of `rate` to begin with: default 10 %.
    pub from: Ratio,
    /// Attempts a second at the end of the first stretch: default 100.
    pub rate: NonZeroU32,
    /// The length of each stretch: default 10 s.
    pub over: Span,
}

impl Default for Recovery {
    fn default() -> Self {
        let rate = const { NonZeroU32::new(100).expect("above zero") };
        Self { from: Ratio::from_percent(10), rate, over: Span::from_secs(10) }
    }
}

impl Default for Pace {
    /// 16 attempts in flight, so that one endpoint that hangs holds few connections, and no cap on
    /// the rate.
    fn default() -> Self {
        let concurrency = const { NonZeroU32::new(16).expect("above zero") };
        Self { concurrency, rate: None, recovery: Recovery::default() }
    }
}
