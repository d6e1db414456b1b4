//! The ledgers of all destinations: one for each policy that a destination is called under, kept over a reload.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stagger::{LocalLedger, Policy};
use stagger_core::breaker::Destination;

use super::ledger::DestinationLedger;
use crate::config::SettingsFault;

/// Makes the ledger of a destination under a policy. Called once for each pair of both, also when settings are read again.
pub type MakeLedger =
    dyn Fn(&Destination, &Policy) -> Result<DestinationLedger, SettingsFault> + Send + Sync;

/// The ledgers that routes have. Routes that call one destination under one policy have one ledger.
pub(crate) struct LedgerRegistry {
    make: Box<MakeLedger>,
    known: Mutex<KnownLedgers>,
}

#[derive(Default)]
struct KnownLedgers {
    ledgers: Vec<(Destination, Policy, Arc<DestinationLedger>)>,
    /// The pause that each destination asked of all callers, whatever their policy.
    hints: BTreeMap<Destination, Arc<LocalLedger>>,
}

impl LedgerRegistry {
    /// Ledgers that `make` makes.
    pub(crate) fn new(make: Box<MakeLedger>) -> Self {
        Self { make, known: Mutex::default() }
    }

    /// Ledgers of this proxy alone.
    pub(crate) fn local() -> Self {
        Self::new(Box::new(|_, policy| Ok(DestinationLedger::local(policy))))
    }

    /// The ledger of a destination under this policy.
    ///
    /// # Errors
    /// The error of the function that makes it.
    pub(crate) fn ledger(
        &self,
        destination: &Destination,
        policy: &Policy,
    ) -> Result<Arc<DestinationLedger>, SettingsFault> {
        let mut known = self.lock();
        let is_it = |it: &&(Destination, Policy, _)| it.0 == *destination && it.1 == *policy;
        if let Some((.., ledger)) = known.ledgers.iter().find(is_it) {
            return Ok(Arc::clone(ledger));
        }
        let made = (self.make)(destination, policy)?;
        let hints = known.hints.entry(destination.clone());
        let hints = hints.or_insert_with(|| Arc::new(LocalLedger::new(&Policy::default())));
        let made = Arc::new(made.pausing_by(Arc::clone(hints)));
        known.ledgers.push((destination.clone(), *policy, Arc::clone(&made)));
        Ok(made)
    }

    /// Forgets the ledgers that no route has any more.
    pub(crate) fn forget_unused(&self) {
        let KnownLedgers { ledgers, hints } = &mut *self.lock();
        ledgers.retain(|(.., ledger)| Arc::strong_count(ledger) > 1);
        hints.retain(|destination, _| ledgers.iter().any(|it| it.0 == *destination));
    }

    fn lock(&self) -> MutexGuard<'_, KnownLedgers> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for LedgerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerRegistry").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use stagger::engine::Ledger;
    use stagger::engine::budget::Charge;
    use stagger::{Instant, Span};

    use super::*;

    #[test]
    fn a_route_with_another_policy_went_to_a_server_before_its_time() {
        let registry = LedgerRegistry::local();
        let to = Destination::of_url("http://a.example").unwrap();
        let (one, other) = (Policy::default(), Policy::webhook());
        let ledger = |policy: &Policy| registry.ledger(&to, policy).unwrap();
        let (first, now) = (ledger(&one), Instant::ORIGIN);
        (&mut &*first).pause(now + Span::from_secs(9), Span::ZERO, &mut || 0);
        let paused = (&mut &*ledger(&other)).paused_until(now);
        assert_eq!(paused, Some(now + Span::from_secs(9)), "the hint is the server's");
        while (&mut &*first).ask(now, Charge::Retry).is_some() {}
        assert!((&mut &*ledger(&one)).ask(now, Charge::Retry).is_none(), "one policy, one budget");
        assert!((&mut &*ledger(&other)).ask(now, Charge::Retry).is_some());
        drop(first);
        registry.forget_unused();
        assert_eq!((&mut &*ledger(&one)).paused_until(now), None, "no route had it any more");
    }
}
