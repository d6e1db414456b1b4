//! Others who call the same backend.

use super::{ArrivalProcess, CallerLayer};

/// Others who call the backend meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Bystanders {
    /// The times of their first attempts.
    pub arrivals: ArrivalProcess,
    /// Their retries.
    pub caller: CallerLayer,
}
