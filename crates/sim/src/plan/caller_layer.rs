//! Callers and their retries, and others who call the same backend.

use stagger_core::{Policy, Span};

use super::ArrivalProcess;
use crate::foreign::Foreign;
use crate::law::{Law, Schedule};

/// One layer of callers.
#[derive(Clone, Debug, PartialEq)]
pub struct CallerLayer {
    /// The engine's policy: everything but the delay of a foreign law comes from it.
    pub policy: Policy,
    /// A delay law that the engine does not offer, for comparison. The policy's own delay is zero
    /// then, and this one is waited.
    pub foreign: Option<Foreign>,
}

impl CallerLayer {
    /// A caller under the engine's policy.
    #[must_use]
    pub const fn new(policy: Policy) -> Self {
        Self { policy, foreign: None }
    }

    /// The same caller, who gives up every attempt after this; unchanged where its policy excludes
    /// that, because the limit is zero or not above the policy's least time for an attempt.
    #[must_use]
    pub fn with_timeout(self, limit: Span) -> Self {
        let policy = self.policy.to_builder().attempt_timeout(limit).build();
        Self { policy: policy.unwrap_or(self.policy), ..self }
    }
}

impl Law {
    /// The caller of this law.
    ///
    /// # Errors
    /// What the engine refuses: a cap below the base, or no attempts.
    pub fn caller(self, schedule: &Schedule) -> Result<CallerLayer, stagger_core::ConfigError> {
        Ok(CallerLayer { policy: self.policy(schedule)?, foreign: Foreign::of(self, schedule) })
    }
}

/// Others who call the backend meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Bystanders {
    /// The times of their first attempts.
    pub arrivals: ArrivalProcess,
    /// Their retries.
    pub caller: CallerLayer,
}
