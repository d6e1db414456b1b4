//! The rate limits of an endpoint, and the statuses that are permanent for it.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use stagger_core::{ConfigError, Ratio, Span};

/// The bounds of an endpoint's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The most attempts in flight.
    pub concurrency: NonZeroU32,
    /// Attempts a second, if there is a cap.
    #[serde(default)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Statuses that an endpoint lists, from 300 to 599: they are permanent for it.
///
/// ```
/// use stagger_scheduler::model::Statuses;
/// let statuses = Statuses::try_from(vec![400, 422])?;
/// assert!(statuses.contains(422) && !statuses.contains(404));
/// assert!(Statuses::try_from(vec![200]).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u16>", into = "Vec<u16>")]
pub struct Statuses(BTreeSet<u16>);

impl Statuses {
    /// Whether `status` is among them.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.0.contains(&status)
    }
}

impl TryFrom<Vec<u16>> for Statuses {
    type Error = ConfigError;

    fn try_from(statuses: Vec<u16>) -> Result<Self, ConfigError> {
        match statuses.iter().find(|status| !(300..=599).contains(*status)) {
            Some(status) => Err(ConfigError::new("endpoint.permanent", status, "from 300 to 599")),
            None => Ok(Self(statuses.into_iter().collect())),
        }
    }
}

impl From<Statuses> for Vec<u16> {
    fn from(statuses: Statuses) -> Self {
        statuses.0.into_iter().collect()
    }
}
