//! One promise, and its result for one integration.

use std::fmt::{self, Debug};
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use stagger::budget::BudgetPlan;
use stagger::{Backoff, Jitter, LocalLedger, Policy, PolicyBuilder, Span};
use stagger_testkit::server::Reaction;

use crate::{Ask, CallOutcome, ContractCaller, Integration, Later};

/// One promise: a name, where it is written, and its check.
#[derive(Clone, Copy)]
pub struct Promise {
    /// Its name in the grid.
    pub name: &'static str,
    /// The section of the specification.
    pub section: &'static str,
    /// Its check.
    pub check: for<'a> fn(&'a Bench<'a>) -> std::pin::Pin<Box<dyn Future<Output = Checks> + 'a>>,
}

/// A list of promises: each with its section, its name, and the function that checks it.
macro_rules! promises {
    ($(#[$doc:meta])* $list:ident $($section:literal $name:literal $check:ident,)*) => {
        $(#[$doc])*
        pub const $list: &[Promise] = &[$(Promise {
            name: $name,
            section: $section,
            check: |bench| Box::pin($check(bench)),
        }),*];
    };
}

pub(crate) use promises;

/// An integration on the bench.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a>(pub &'a dyn Integration);

impl Bench<'_> {
    /// One call, with a ledger of its own.
    pub async fn call(&self, policy: Policy, ask: Ask) -> CallOutcome {
        let mut ends = self.calls(policy, vec![ask]).await;
        ends.pop().unwrap_or(CallOutcome {
            result: Err("no end".into()),
            stop: None,
            attempts: None,
        })
    }

    /// Calls one after the other, by one client and one ledger.
    pub async fn calls(&self, policy: Policy, asks: Vec<Ask>) -> Vec<CallOutcome> {
        self.0.calls(policy, Arc::new(LocalLedger::new(&policy)), asks).await
    }

    /// The same with a ledger to look at, not yet begun.
    pub fn with_ledger(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        asks: Vec<Ask>,
    ) -> Later<Vec<CallOutcome>> {
        self.0.calls(policy, ledger, asks)
    }

    /// A client as it is by default, but for its policy.
    pub fn client(&self, policy: Policy) -> ContractCaller {
        self.0.client(policy)
    }

    /// A call inside an attempt of another call.
    pub async fn nested(&self, policy: Policy, ask: Ask) -> Option<CallOutcome> {
        self.0.nested(policy, Arc::new(LocalLedger::new(&policy)), ask).await.pop()
    }

    /// The server's reply of this status, in the protocol of the integration; a status that has no
    /// likeness there is said in HTTP.
    pub fn failure(&self, status: u16) -> Reaction {
        self.failure_because(status, "")
    }

    /// The same with a reason for people.
    pub fn failure_because(&self, status: u16, why: &'static str) -> Reaction {
        self.0.failure(status, why).unwrap_or_else(|| Reaction::status(status).body(why))
    }

    /// Those of the statuses that the protocol can say.
    pub fn sayable(&self, statuses: &[u16]) -> Vec<u16> {
        let can = |status: &u16| self.0.failure(*status, "").is_some();
        statuses.iter().copied().filter(can).collect()
    }

    /// The server's reply to a call that goes well.
    pub fn success(&self) -> Reaction {
        self.0.success()
    }
}

/// Three attempts, a millisecond apart, no budget in the way.
pub(crate) fn quick() -> PolicyBuilder {
    steady(Span::from_millis(1))
}

/// Three attempts, always so far apart.
pub(crate) fn steady(delay: Span) -> PolicyBuilder {
    let backoff = Backoff::constant(delay).with_jitter(Jitter::None);
    let backoff = backoff.expect("no jitter fits every delay");
    Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited).max_attempts(3)
}

impl Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Promise({})", self.name)
    }
}

/// The result of one promise for one integration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ContractCell {
    /// Checks that passed, of how many, and what failed.
    Checked {
        /// Checks that passed.
        passed: usize,
        /// Checks that were made.
        total: usize,
        /// The failures: got and wanted.
        failed: Vec<String>,
    },
    /// The promise does not apply, for this reason.
    Waived {
        /// Why.
        reason: &'static str,
    },
}

/// The checks of one promise, as they are made.
#[derive(Debug, Default)]
pub struct Checks {
    total: usize,
    failed: Vec<String>,
}

impl ContractCell {
    /// Every check passed, and there was one; or there is a reason for none.
    #[must_use]
    pub fn is_good(&self) -> bool {
        match self {
            Self::Checked { passed, total, .. } => *total > 0 && passed == total,
            Self::Waived { reason } => !reason.is_empty(),
        }
    }
}

impl Checks {
    /// Checks that `got` equals `want`.
    pub fn equal<T: PartialEq + Debug>(&mut self, what: &str, got: &T, want: &T) {
        self.holds(&format!("{what}: got {got:?}, want {want:?}"), got == want);
    }

    /// Checks that this holds.
    pub fn holds(&mut self, what: &str, holds: bool) {
        self.total += 1;
        if !holds {
            self.failed.push(what.to_owned());
        }
    }

    /// The cell of these.
    #[must_use]
    pub fn finish(self) -> ContractCell {
        let passed = self.total - self.failed.len();
        ContractCell::Checked { passed, total: self.total, failed: self.failed }
    }
}

impl fmt::Display for ContractCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checked { passed, total, .. } => write!(f, "{passed}/{total}"),
            Self::Waived { reason } => f.write_str(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cell_proves_nothing() {
        assert!(!Checks::default().finish().is_good());
        assert!(!ContractCell::Waived { reason: "" }.is_good());
    }

    #[test]
    fn one_failed_check_spoils_the_cell() {
        let mut checks = Checks::default();
        checks.equal("attempts", &1, &1);
        checks.equal("attempts", &2, &1);
        let cell = checks.finish();
        assert!(!cell.is_good());
        assert_eq!(cell.to_string(), "1/2");
    }
}
