//! Sign-ins that a browser has begun at the provider and not finished.

use std::collections::HashMap;

use openidconnect::{Nonce, PkceCodeVerifier};
use stagger::{Instant, Span};

/// The most of them; the oldest is dropped for a new one.
const MAX_PENDING: usize = 256;

/// The longest time for signing in at the provider.
pub(super) const LASTS: Span = Span::from_secs(10 * 60);

/// The secrets of one sign-in, and the page to show after it.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) nonce: Nonce,
    pub(super) verifier: PkceCodeVerifier,
    pub(super) next: String,
}

/// All of them by their state.
#[derive(Debug, Default)]
pub(super) struct PendingSignIns(HashMap<String, (Instant, Pending)>);

impl PendingSignIns {
    pub(super) fn add(&mut self, now: Instant, state: String, pending: Pending) {
        self.0.retain(|_, (began, _)| now.since(*began) < LASTS);
        if self.0.len() >= MAX_PENDING
            && let Some(oldest) = self.0.iter().min_by_key(|(_, (began, _))| *began)
        {
            let oldest = oldest.0.clone();
            self.0.remove(&oldest);
        }
        self.0.insert(state, (now, pending));
    }

    /// Takes the one with this state: a state is good for one try.
    pub(super) fn take(&mut self, now: Instant, state: &str) -> Option<Pending> {
        let (began, pending) = self.0.remove(state)?;
        (now.since(began) < LASTS).then_some(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending() -> Pending {
        let verifier = PkceCodeVerifier::new("v".repeat(43));
        Pending { nonce: Nonce::new("n".into()), verifier, next: "/".into() }
    }

    #[test]
    fn a_state_was_good_twice_or_for_ever() {
        let (mut all, now) = (PendingSignIns::default(), Instant::ORIGIN);
        all.add(now, "a".into(), pending());
        assert!(all.take(now, "b").is_none() && all.take(now, "a").is_some());
        assert!(all.take(now, "a").is_none());
        all.add(now, "c".into(), pending());
        assert!(all.take(now + LASTS, "c").is_none());
    }

    #[test]
    fn sign_ins_that_nobody_finished_filled_the_memory() {
        let mut all = PendingSignIns::default();
        let at = |n: usize| Instant::ORIGIN + Span::from_millis(n as u64);
        (0..=MAX_PENDING).for_each(|n| all.add(at(n), n.to_string(), pending()));
        assert_eq!(all.0.len(), MAX_PENDING);
        assert!(all.take(at(300), "0").is_none() && all.take(at(300), "1").is_some());
    }
}
