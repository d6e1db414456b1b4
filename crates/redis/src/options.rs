//! Options of a process that shares the budget and the breaker of its fleet.

use stagger::{ConfigError, Span};

/// In front of every key by default.
const PREFIX: &str = "stagger";
/// The longest prefix or name: keys are sent with every lease, and 200 bytes name anything.
const MAX_NAME: usize = 200;
/// Permits in a lease by default: few, because those that a process holds and does not use are a
/// budget of its own.
const LEASE: u32 = 4;
/// The largest lease: what ten thousand calls may fail in one round trip.
const MAX_LEASE: u32 = 10_000;
/// Half a second: two reports a second from each process, and a store that is slower is as good as unreachable.
const AGAIN: Span = Span::from_millis(500);
/// Shorter, and a pause of a process looks as if the store were unreachable; longer, and what the store
/// knows of first attempts is older than the shortest window.
const SHORTEST: Span = Span::from_millis(10);
const LONGEST: Span = Span::from_secs(1);

/// Options of a shared budget: the keys' prefix, the size of a lease, the patience with the store,
/// what happens without it, and whether the breaker is shared too.
///
/// ```
/// use stagger::Span;
/// use stagger_redis::{SharedOptions, StoreFallback};
/// let options = SharedOptions::new(40)?.with_lease(8)?.with_again(Span::from_millis(200))?;
/// assert_eq!(options.fallback(), StoreFallback::Local { nodes: 40 });
/// assert!(SharedOptions::new(40)?.with_lease(0).is_err());
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedOptions {
    prefix: String,
    lease: u32,
    again: Span,
    fallback: StoreFallback,
    shares_breaker: bool,
}

/// The behaviour of a process that has no permit left and gets no answer from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreFallback {
    /// It falls back to a budget of its own, the fleet's divided by so many nodes: see
    /// [`BudgetPlan::share_of`](stagger::budget::BudgetPlan::share_of).
    Local {
        /// The nodes that are expected. At least 1; with more than that, the parts add up to more.
        nodes: u32,
    },
    /// It refuses.
    Refuse,
}

impl SharedOptions {
    /// Leases of 4 permits, reports every 500 ms, keys that begin with `stagger`; without the store a
    /// budget of its own, that of one node of `expected_nodes`.
    ///
    /// # Errors
    /// `shared.nodes` zero.
    pub fn new(expected_nodes: u32) -> Result<Self, ConfigError> {
        let (prefix, fallback) = (PREFIX.to_owned(), StoreFallback::Refuse);
        let options = Self { prefix, lease: LEASE, again: AGAIN, fallback, shares_breaker: false };
        options.with_fallback(StoreFallback::Local { nodes: expected_nodes })
    }

    /// The same with another beginning of the keys, default `stagger`. Fleets that share a store and
    /// no budget have one each.
    ///
    /// # Errors
    /// `shared.prefix` empty, longer than 200 bytes, or with a brace, which is Redis Cluster's mark
    /// of what belongs together.
    pub fn with_prefix(self, prefix: &str) -> Result<Self, ConfigError> {
        Ok(Self { prefix: part_of_key("shared.prefix", prefix)?.to_owned(), ..self })
    }

    /// The same with so many permits in a lease, default 4. A process holds up to one and a half
    /// leases: the fleet's retries may exceed its limit by what all processes hold.
    ///
    /// # Errors
    /// `shared.lease` outside 1..=10000.
    pub fn with_lease(self, permits: u32) -> Result<Self, ConfigError> {
        if !(1..=MAX_LEASE).contains(&permits) {
            return Err(ConfigError::new("shared.lease", permits, "from 1 to 10000"));
        }
        Ok(Self { lease: permits, ..self })
    }

    /// The same with another patience, default 500 ms: how often events are reported, when a
    /// refused process asks again, and after how long without an answer the store counts as unreachable.
    ///
    /// # Errors
    /// `shared.again` outside 10 ms..=1 s.
    pub fn with_again(self, again: impl Into<Span>) -> Result<Self, ConfigError> {
        let again = again.into();
        if !(SHORTEST..=LONGEST).contains(&again) {
            return Err(ConfigError::new("shared.again", again, "from 10ms to 1s"));
        }
        Ok(Self { again, ..self })
    }

    /// The same with another fallback for a store that is unreachable.
    ///
    /// # Errors
    /// `shared.nodes` zero.
    pub fn with_fallback(self, fallback: StoreFallback) -> Result<Self, ConfigError> {
        if fallback == (StoreFallback::Local { nodes: 0 }) {
            return Err(ConfigError::new("shared.nodes", 0, "at least 1"));
        }
        Ok(Self { fallback, ..self })
    }

    /// The same with one breaker for the whole fleet, or, the default, with one for each process.
    ///
    /// Shared, it opens for all when it opens for one: also when only the network of that one is ill.
    /// What it takes to open is counted in each process.
    ///
    /// ```
    /// use stagger_redis::SharedOptions;
    /// let options = SharedOptions::new(40)?;
    /// assert!(!options.shares_breaker());
    /// assert!(options.with_shared_breaker(true).shares_breaker());
    /// # Ok::<(), stagger::ConfigError>(())
    /// ```
    #[must_use]
    pub fn with_shared_breaker(self, yes: bool) -> Self {
        Self { shares_breaker: yes, ..self }
    }

    /// The prefix of every key.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The permits in a lease.
    #[must_use]
    pub const fn lease(&self) -> u32 {
        self.lease
    }

    /// The patience with the store.
    #[must_use]
    pub const fn again(&self) -> Span {
        self.again
    }

    /// The behaviour while the store is unreachable.
    #[must_use]
    pub const fn fallback(&self) -> StoreFallback {
        self.fallback
    }

    /// Whether the breaker is the fleet's.
    #[must_use]
    pub const fn shares_breaker(&self) -> bool {
        self.shares_breaker
    }
}

/// A text that may be part of a key.
pub(crate) fn part_of_key<'a>(field: &'static str, text: &'a str) -> Result<&'a str, ConfigError> {
    if text.is_empty() || text.len() > MAX_NAME || text.contains(['{', '}']) {
        let bound = "from 1 to 200 bytes without braces";
        return Err(ConfigError::new(field, text, bound));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_fleet_can_work_with_is_refused_by_name() {
        let options = || SharedOptions::new(2).unwrap();
        let field = |result: Result<SharedOptions, ConfigError>| result.unwrap_err().field();
        assert_eq!(field(SharedOptions::new(0)), "shared.nodes");
        assert_eq!(field(options().with_lease(0)), "shared.lease");
        assert_eq!(field(options().with_lease(10_001)), "shared.lease");
        assert_eq!(field(options().with_again(Span::from_millis(9))), "shared.again");
        assert_eq!(field(options().with_again(Span::from_millis(1_001))), "shared.again");
        for prefix in ["", "a{b", "a}b", &"a".repeat(201)] {
            assert_eq!(field(options().with_prefix(prefix)), "shared.prefix");
        }
    }
}
