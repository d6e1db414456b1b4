//! Others who call the same backend.

use super::{Arrivals, Caller};

/// Others who call the backend meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Bystanders {
    /// The times of their first attempts.
    pub arrivals: Arrivals,
    /// Their retries.
    pub caller: Caller,
}
