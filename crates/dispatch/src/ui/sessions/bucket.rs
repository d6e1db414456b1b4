//! The number of wrong keys accepted before a caller has to wait.

use stagger::{Instant, Span};

/// Wrong keys in a row that a person may need.
const CAPACITY: u64 = 10;
/// The time until one more try is granted: 17 000 guesses a day are nothing against a key of 256
/// bits, and little against a weak one.
const EACH: Span = Span::from_secs(5);

/// A token bucket of wrong keys, kept as the time at which it is full again.
#[derive(Debug, Default)]
pub(super) struct WrongKeyBucket {
    full_at: Instant,
}

impl WrongKeyBucket {
    /// Takes one token, or says how long until there is one.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Span> {
        let full = Span::from_nanos(EACH.as_nanos() * CAPACITY);
        let then = self.full_at.max(now) + EACH;
        let missing = then.since(now);
        if missing > full {
            return Err(missing - full);
        }
        self.full_at = then;
        Ok(())
    }

    /// Gives one back: the key was right.
    pub(super) fn give_back(&mut self) {
        self.full_at = Instant::ORIGIN + (self.full_at.since(Instant::ORIGIN) - EACH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_slowed_to_one_in_five_seconds() {
        let now = Instant::ORIGIN + Span::from_secs(1_000);
        let mut bucket = WrongKeyBucket::default();
        assert!((0..CAPACITY).all(|_| bucket.take(now).is_ok()));
        assert_eq!(bucket.take(now), Err(EACH));
        assert_eq!(bucket.take(now + Span::from_secs(4)), Err(Span::from_secs(1)));
        assert!(bucket.take(now + EACH).is_ok());
        assert!(bucket.take(now + EACH).is_err());
    }

    #[test]
    fn right_keys_cost_nothing() {
        let now = Instant::ORIGIN + Span::from_secs(1_000);
        let mut bucket = WrongKeyBucket::default();
        for _ in 0..100 {
            assert!(bucket.take(now).is_ok());
            bucket.give_back();
        }
    }
}
