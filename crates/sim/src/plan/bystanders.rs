//! Others who call the same backend.

use super::{Arrivals, Caller};

/// Others who call the backend meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Bystanders {
    /// When they make their first attempt.
    pub arrivals: Arrivals,
    /// How they retry.
    pub caller: Caller,
}
