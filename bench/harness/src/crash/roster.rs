//! The healthy nodes, in a time that stops while the database is unavailable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Nodes by the name that they have in the database, which is the address that they listen on.
#[derive(Debug)]
pub(super) struct Roster {
    begun: Instant,
    state: Mutex<NodeState>,
}

#[derive(Debug, Default)]
struct NodeState {
    away_since: Option<Instant>,
    /// The total time for which the database was unavailable before.
    away: Duration,
    well: BTreeSet<String>,
    fallen: BTreeMap<String, Duration>,
    changed: Duration,
}

impl Roster {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), state: Mutex::default() }
    }

    /// The time for which the database was available.
    pub(super) fn now(&self) -> Duration {
        self.state().now(self.begun)
    }

    /// A node is started, or is what it was before.
    pub(super) fn rise(&self, name: &str) {
        let mut state = self.state();
        state.changed = state.now(self.begun);
        state.fallen.remove(name);
        state.well.insert(name.to_owned());
    }

    /// From now on a node leads nobody, whatever is written anywhere.
    pub(super) fn fall(&self, name: &str) {
        let mut state = self.state();
        let now = state.now(self.begun);
        state.changed = now;
        if state.well.remove(name) {
            state.fallen.insert(name.to_owned(), now);
        }
    }

    pub(super) fn database_goes(&self) {
        self.state().away_since = Some(Instant::now());
    }

    pub(super) fn database_is_back(&self) {
        let mut state = self.state();
        if let Some(since) = state.away_since.take() {
            state.away += since.elapsed();
        }
        state.changed = state.now(self.begun);
    }

    /// Since when a node is not well; nothing if it is. Nobody knows one that was killed before it was
    /// heard of: that one never was.
    pub(super) fn unwell_since(&self, name: &str) -> Option<Duration> {
        let state = self.state();
        if state.well.contains(name) {
            return None;
        }
        Some(state.fallen.get(name).copied().unwrap_or_default())
    }

    /// The nodes that are well, if there are `count` and all has been quiet for so long.
    pub(super) fn settled(&self, count: usize, span: Duration) -> Option<BTreeSet<String>> {
        let state = self.state();
        let quiet = state.away_since.is_none() && state.now(self.begun) >= state.changed + span;
        (quiet && state.well.len() == count).then(|| state.well.clone())
    }

    fn state(&self) -> MutexGuard<'_, NodeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NodeState {
    fn now(&self, begun: Instant) -> Duration {
        self.away_since.unwrap_or_else(Instant::now) - begun - self.away
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn time_without_a_database_does_not_count() {
        let roster = Roster::new();
        advance(SECOND).await;
        roster.database_goes();
        advance(5 * SECOND).await;
        assert_eq!(roster.now(), SECOND);
        roster.database_is_back();
        advance(2 * SECOND).await;
        assert_eq!(roster.now(), 3 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_falls_is_unwell_until_it_rises() {
        let roster = Roster::new();
        roster.rise("a");
        roster.rise("b");
        assert_eq!(
            (roster.unwell_since("a"), roster.unwell_since("c")),
            (None, Some(Duration::ZERO))
        );
        advance(SECOND).await;
        roster.fall("a");
        assert_eq!(roster.unwell_since("a"), Some(SECOND));
        advance(SECOND).await;
        assert_eq!(roster.settled(2, SECOND), None);
        roster.rise("a");
        assert_eq!((roster.unwell_since("a"), roster.settled(2, SECOND)), (None, None));
        advance(SECOND).await;
        assert_eq!(roster.settled(2, SECOND).map(|well| well.len()), Some(2));
    }
}
