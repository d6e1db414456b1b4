//! The rate limit before the workers of one shard.

use stagger_core::{Instant, Span};

use crate::plan::ServerRateLimit;

/// One shard's limit at work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiter {
    rule: ServerRateLimit,
    /// Fixed window: its number. Tokens: when the bucket would be full again.
    mark: u64,
    used: u32,
}

impl Limiter {
    pub(super) const fn new(rule: ServerRateLimit) -> Self {
        Self { rule, mark: 0, used: 0 }
    }

    /// Admits an attempt, or says after what time to come back.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Span> {
        match self.rule {
            ServerRateLimit::Window { attempts, window } => self.in_window(now, attempts, window),
            ServerRateLimit::Tokens { burst, every } => self.by_token(now, burst, every),
        }
    }

    fn in_window(&mut self, now: Instant, attempts: u32, window: Span) -> Result<(), Span> {
        let width = window.as_nanos().max(1);
        let number = now.as_nanos() / width;
        if number != self.mark {
            (self.mark, self.used) = (number, 0);
        }
        if self.used >= attempts {
            return Err(Span::from_nanos(width - now.as_nanos() % width));
        }
        self.used += 1;
        Ok(())
    }

    /// The bucket as one instant, the time at which it would be full again (a "generic cell rate
    /// algorithm", ITU-T I.371): a token moves it on by `every`.
    fn by_token(&mut self, now: Instant, burst: u32, every: Span) -> Result<(), Span> {
        let (now, every) = (now.as_nanos(), every.as_nanos().max(1));
        let full_at = self.mark.max(now).saturating_add(every);
        let room = every.saturating_mul(u64::from(burst.max(1)));
        let wait = full_at.saturating_sub(now.saturating_add(room));
        if wait > 0 {
            return Err(Span::from_nanos(wait));
        }
        self.mark = full_at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(ms)
    }

    #[test]
    fn a_window_says_when_the_next_one_begins() {
        let mut limit =
            Limiter::new(ServerRateLimit::Window { attempts: 2, window: Span::from_millis(100) });
        assert_eq!([limit.admit(at(10)), limit.admit(at(20))], [Ok(()), Ok(())]);
        assert_eq!(limit.admit(at(30)), Err(Span::from_millis(70)));
        assert_eq!(limit.admit(at(100)), Ok(()));
    }

    #[test]
    fn a_bucket_says_when_its_next_token_is_there() {
        let mut limit =
            Limiter::new(ServerRateLimit::Tokens { burst: 2, every: Span::from_millis(10) });
        assert_eq!([limit.admit(at(0)), limit.admit(at(0))], [Ok(()), Ok(())]);
        assert_eq!(limit.admit(at(4)), Err(Span::from_millis(6)));
        assert_eq!([limit.admit(at(10)), limit.admit(at(1_000))], [Ok(()), Ok(())]);
        assert_eq!([limit.admit(at(1_000)).is_ok(), limit.admit(at(1_000)).is_ok()], [true, false]);
    }
}
