//! The rate of requests of each session.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use stagger::engine::rate_limit::RateLimiter;
use stagger::rate_limit::RatePlan;
use stagger::{Instant, Rate, Span};
use stagger_scheduler::model::PortalLinkId;

/// Requests a second of a session, and at once: a person clicks less, and an open page asks every five seconds.
const RATE: Rate = Rate::per_second(10);
const BURST: u32 = 60;

/// Sessions that are remembered; beyond them the oldest are forgotten.
const SESSIONS: usize = 10_000;

/// The requests of each session.
#[derive(Debug)]
pub(super) struct SessionLimits {
    plan: RatePlan,
    sessions: Mutex<HashMap<PortalLinkId, (RateLimiter, Instant)>>,
}

impl SessionLimits {
    pub(super) fn new() -> Self {
        let plan = RatePlan::new(RATE, BURST).expect("both are within their bounds");
        Self { plan, sessions: Mutex::default() }
    }

    /// Takes one request of a session.
    ///
    /// # Errors
    /// The time after which the next may come.
    pub(super) fn take(&self, session: PortalLinkId, now: Instant) -> Result<(), Span> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= SESSIONS && !sessions.contains_key(&session) {
            let oldest = sessions.iter().min_by_key(|(_, (_, at))| *at).map(|(id, _)| *id);
            oldest.and_then(|oldest| sessions.remove(&oldest));
        }
        let (limiter, at) =
            sessions.entry(session).or_insert_with(|| (RateLimiter::new(self.plan), now));
        *at = now;
        limiter.reserve(now, Span::ZERO).map(|_| ()).ok_or_else(|| self.plan.interval())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(n: u64) -> PortalLinkId {
        PortalLinkId::from_uuid(Uuid::from_u128(n.into()))
    }

    #[test]
    fn a_session_asked_as_often_as_it_liked() {
        let (limits, now) = (SessionLimits::new(), Instant::ORIGIN + Span::from_secs(100));
        for _ in 0..BURST {
            assert_eq!(limits.take(id(1), now), Ok(()));
        }
        assert_eq!(limits.take(id(1), now), Err(Span::from_millis(100)));
        assert_eq!(limits.take(id(2), now), Ok(()), "another session is not held back");
        assert_eq!(limits.take(id(1), now + Span::from_millis(100)), Ok(()));
    }

    #[test]
    fn sessions_without_end_filled_the_memory() {
        let (limits, start) = (SessionLimits::new(), Instant::ORIGIN + Span::from_secs(100));
        for n in 0..SESSIONS as u64 + 10 {
            assert_eq!(limits.take(id(n), start + Span::from_millis(n)), Ok(()));
        }
        assert_eq!(limits.sessions.lock().expect("no panic").len(), SESSIONS);
    }
}
