//! Sessions of signed-in operators. They are kept in memory, so a restart ends them.

use std::collections::HashMap;

use stagger::{Instant, Span};

use crate::Error;
use crate::model::KeyHash;
use crate::sign::os_bytes;

/// The most sessions: more browsers than operators have; the oldest one ends for a new one.
const CAPACITY: usize = 64;
/// The lifetime of a session: a working day.
pub(super) const LASTS: Span = Span::from_secs(12 * 60 * 60);

/// All sessions, by the hash of their token, so that a dump of memory holds none.
#[derive(Debug, Default)]
pub(super) struct SessionStore {
    ends: HashMap<KeyHash, Instant>,
}

impl SessionStore {
    /// A new session: its token, 256 bits of the operating system's randomness in hexadecimal digits.
    ///
    /// # Errors
    /// The operating system has no randomness.
    pub(super) fn open(&mut self, now: Instant) -> Result<String, Error> {
        let bytes = os_bytes::<32>()?;
        self.ends.retain(|_, end| *end > now);
        if self.ends.len() >= CAPACITY
            && let Some(oldest) = self.ends.iter().min_by_key(|(_, end)| **end).map(|(t, _)| *t)
        {
            self.ends.remove(&oldest);
        }
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.ends.insert(KeyHash::of(&token), now + LASTS);
        Ok(token)
    }

    /// Whether `token` is that of a session that has not ended.
    pub(super) fn holds(&self, now: Instant, token: &str) -> bool {
        self.ends.get(&KeyHash::of(token)).is_some_and(|end| *end > now)
    }

    /// Ends a session.
    pub(super) fn close(&mut self, token: &str) {
        self.ends.remove(&KeyHash::of(token));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(sessions: &mut SessionStore, now: Instant) -> String {
        sessions.open(now).expect("the system has randomness")
    }

    #[test]
    fn a_session_ends_by_itself_and_by_signing_out() {
        let (mut sessions, now) = (SessionStore::default(), Instant::ORIGIN);
        let (first, second) = (open(&mut sessions, now), open(&mut sessions, now));
        assert_ne!(first, second);
        assert_eq!(first.len(), 64);
        assert!(sessions.holds(now, &first) && !sessions.holds(now, "other"));
        sessions.close(&first);
        assert!(!sessions.holds(now, &first));
        assert!(sessions.holds(now, &second) && !sessions.holds(now + LASTS, &second));
    }

    #[test]
    fn sessions_do_not_fill_the_memory() {
        let mut sessions = SessionStore::default();
        let at = |n| Instant::ORIGIN + Span::from_secs(n);
        let first = open(&mut sessions, at(0));
        let tokens: Vec<_> = (1..=64).map(|n| open(&mut sessions, at(n))).collect();
        assert_eq!(sessions.ends.len(), CAPACITY);
        assert!(!sessions.holds(at(64), &first));
        assert!(tokens.iter().all(|token| sessions.holds(at(64), token)));
    }
}
