//! The changes that a user makes to a scenario that ships.

use stagger_core::{ConfigError, Policy, Span};

use crate::law::{Law, Schedule};
use crate::plan::CallerLayer;
use crate::waits::Equal;

/// A user's changes to a scenario that ships; `None` leaves its own value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StormOptions {
    /// The seed of all runs; 1 when left out.
    pub seed: Option<u64>,
    /// Runs of every entry.
    pub runs: Option<u32>,
    /// Callers.
    pub callers: Option<u32>,
    /// The instant at which the backend is up again, from the origin.
    pub up_at: Option<Span>,
    /// Callers a second who never retry, beside those who are looked at.
    pub beside: Option<u32>,
    /// The first ceiling.
    pub base: Option<Span>,
    /// The bound of every ceiling.
    pub cap: Option<Span>,
    /// Attempts a call may make in all.
    pub attempts: Option<u32>,
    /// The laws to compare; the scenario's own when empty.
    pub laws: Vec<Law>,
    /// The property that compared laws have in common.
    pub equal: Equal,
    /// Policies to put beside the laws, by name.
    pub policies: Vec<(String, Policy)>,
}

impl StormOptions {
    /// The schedule of the laws, with what the user changed.
    #[must_use]
    pub fn schedule(&self, default: Schedule) -> Schedule {
        Schedule {
            base: self.base.unwrap_or(default.base),
            cap: self.cap.unwrap_or(default.cap),
            attempts: self.attempts.unwrap_or(default.attempts),
        }
    }

    /// The callers to compare, by name: never to retry first, then the laws, then the user's own.
    ///
    /// # Errors
    /// A schedule that the engine refuses.
    pub fn callers(
        &self,
        laws: &[Law],
        schedule: &Schedule,
    ) -> Result<Vec<(String, CallerLayer)>, ConfigError> {
        let asked = |law: &Law| self.laws.is_empty() || self.laws.contains(law);
        let laws = laws.iter().copied().filter(|&law| law != Law::NoRetry && asked(&law));
        let mut all = Vec::new();
        for law in [Law::NoRetry].into_iter().chain(laws) {
            let schedule = self.equal.schedule(law, schedule)?;
            all.push((law.name().to_owned(), law.caller(&schedule)?));
        }
        let own = self.policies.iter();
        all.extend(own.map(|(name, policy)| (name.clone(), CallerLayer::new(*policy))));
        Ok(all)
    }
}
