//! The memory that a run will take, estimated before it is played.

use stagger_core::budget::BudgetPlan;
use stagger_core::{Instant, Policy, Span};

use super::{ArrivalProcess, Hop, RunPlan, Trouble, Users};

/// A caller between two attempts: an event with two words in the queue.
const WAITING: u64 = 32;
/// A caller with an attempt under way, or with a grant of its budget: its call, the attempt, and the event
/// that ends it.
const KEPT: u64 = 400;

/// The most attempts of a call that waits as an event and nothing else.
pub(crate) const MOST_PARKED_ATTEMPTS: u32 = 4_095;

impl RunPlan {
    /// The bytes that the callers of one run take at the same time at least, as an estimate.
    ///
    /// It counts sources whose calls begin together (`Together`, `Noticed`, `Spread`, `Closed`); calls
    /// that come one after the other are mostly over before the next ones begin.
    ///
    /// ```
    /// use stagger_sim::{ArrivalProcess, Law, RunPlan, Schedule};
    /// let caller = Law::Full.caller(&Schedule::default())?;
    /// let plan = RunPlan::new(ArrivalProcess::Together { callers: 50_000_000 }, caller);
    /// assert_eq!(plan.least_memory(), 1_600_000_000);
    /// # Ok::<(), stagger_core::ConfigError>(())
    /// ```
    #[must_use]
    pub fn least_memory(&self) -> u64 {
        let callers = self.sources().map(together).fold(0, u64::saturating_add);
        let kept = if self.keeps_all() { callers } else { callers.min(self.places()) };
        callers.saturating_mul(WAITING).saturating_add(kept.saturating_mul(KEPT))
    }

    /// Whether every caller is kept: its attempts take time, or it holds a grant while it waits.
    fn keeps_all(&self) -> bool {
        let budgets =
            self.all_callers().any(|caller| *caller.policy.budget() != BudgetPlan::Unlimited);
        let hangs = self.faults.iter().any(|fault| {
            let keeps = matches!(fault.trouble, Trouble::Hang | Trouble::Silence | Trouble::Stall);
            keeps && fault.until > Instant::ORIGIN
        });
        let slow = self.backend.workers.is_none() && self.backend.service.mean() > Span::ZERO;
        // A user's patience, and the server that a retry avoids, are kept with the call.
        let remembers = self.backend.balancer.is_some_and(|balancer| balancer.retry_elsewhere)
            || self.users != Users::default();
        let layers = self.callers.len() > 1;
        budgets || hangs || slow || remembers || layers || self.hop != Hop::None || self.lasts()
    }

    /// Whether callers make more attempts than an event has room for before all are served, so that each
    /// of them is kept in the end.
    fn lasts(&self) -> bool {
        let Some(workers) = self.backend.workers else { return false };
        let callers = u128::from(self.sources().map(together).fold(0, u64::saturating_add));
        let work = callers * u128::from(self.backend.service.mean().as_nanos());
        let drain =
            work / u128::from(workers.count.max(1)) / u128::from(self.backend.shard_count());
        let many = |policy: &Policy| {
            let cap = u128::from(policy.backoff().cap().as_nanos()).max(1);
            let most = policy.limits().max_attempts().unwrap_or(u32::MAX);
            most > MOST_PARKED_ATTEMPTS && drain / cap > u128::from(MOST_PARKED_ATTEMPTS)
        };
        self.all_callers().any(|caller| many(&caller.policy))
    }

    /// The attempts that the backend holds at once.
    fn places(&self) -> u64 {
        let Some(workers) = self.backend.workers else { return 0 };
        let each =
            workers.queue.map_or(u64::MAX, |queue| u64::from(queue) + u64::from(workers.count));
        each.saturating_mul(u64::from(self.backend.shard_count()))
    }
}

/// The callers of this source that begin together.
fn together(source: &ArrivalProcess) -> u64 {
    match *source {
        ArrivalProcess::Together { callers }
        | ArrivalProcess::Noticed { callers, .. }
        | ArrivalProcess::Spread { callers, .. } => u64::from(callers),
        ArrivalProcess::Closed { clients, .. } => u64::from(clients),
        _ => 0,
    }
}
