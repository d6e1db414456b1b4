//! A set of HTTP statuses.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use stagger_core::ConfigError;

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
