//! Asks the database again and again who leads which shard, and keeps the healthy nodes, in a time that
//! stops while the database is unavailable.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;
use xtask_workbench::note;

use super::checks::Gaps;
use crate::rig::{SHARDS, connect, leads};

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
    /// The total time for which the machine paused this process, and the longest pause.
    paused: Duration,
    longest_pause: Duration,
    well: BTreeSet<String>,
    fallen: BTreeMap<String, Duration>,
    changed: Duration,
}

impl Roster {
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), state: Mutex::default() }
    }

    /// The time for which the database was available, and this process was not paused.
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

    /// A look at all shards that began at `since` is over. More than [`MOST_A_LOOK`] is a pause of the machine, in
    /// which no node can do anything either: like a node, it counts such a look as a short one.
    fn looked(&self, since: Duration) {
        let mut state = self.state();
        let took = state.now(self.begun).saturating_sub(since);
        let pause = took.saturating_sub(MOST_A_LOOK);
        state.paused += pause;
        state.longest_pause = state.longest_pause.max(pause);
    }

    /// The total time of all pauses of this process, and the longest one.
    pub(super) fn pauses(&self) -> (Duration, Duration) {
        let state = self.state();
        (state.paused, state.longest_pause)
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
        // The pauses are not within the time that the database was away.
        self.away_since.unwrap_or_else(Instant::now) - begun - self.away - self.paused
    }
}

/// The interval between samples.
const EVERY: Duration = Duration::from_millis(20);

/// The longest time that one look counts for: this process shares the machine with all others.
const MOST_A_LOOK: Duration = Duration::from_millis(100);

/// The longest time until all shards have a leader at the start.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The time that all nodes must have lived before the spread is checked, in leases, and the longest time
/// until it is even.
const SPREAD_LEASES: u32 = 3;

const SPREAD_LIMIT: Duration = Duration::from_secs(60);

/// The longest time for an answer, after which the connection is closed.
const ANSWER: Duration = Duration::from_secs(5);

/// The one who asks, until it is stopped.
#[derive(Debug)]
pub(super) struct Leaders {
    task: JoinHandle<Found>,
    stop: watch::Sender<bool>,
    spread: watch::Receiver<Option<ShardSpread>>,
}

/// The most and the least shards that a node leads, when all have lived for some leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShardSpread {
    pub(super) most: usize,
    pub(super) least: usize,
}

/// The most shards by which two nodes may differ: the remainder of an even share.
const UNEVEN: usize = 1;

impl ShardSpread {
    pub(super) const fn is_even(self) -> bool {
        self.most - self.least <= UNEVEN
    }
}

/// The violations found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// The longest that a shard was without a leader that was well.
    pub(super) longest: Duration,
    /// The last spread that was seen; nothing when nodes never lived long enough.
    pub(super) spread: Option<ShardSpread>,
    /// The total time for which the machine paused this process, and the longest pause. It counts nowhere.
    pub(super) paused: Duration,
    pub(super) longest_pause: Duration,
}

impl Leaders {
    /// Begins once every shard has a leader.
    pub(super) async fn watch(
        url: &str,
        nodes: usize,
        lease: Duration,
        roster: &Arc<Roster>,
    ) -> Result<Self, Box<dyn Error>> {
        let client = connect(url).await?;
        let until = Instant::now() + START_LIMIT;
        while leads(&client).await?.into_values().filter(|led| led.is_some()).count() < SHARDS {
            if Instant::now() > until {
                return Err(format!("not all shards are led after {START_LIMIT:?}").into());
            }
            sleep(EVERY).await;
        }
        let (stop, stopped) = watch::channel(false);
        let gaps = Gaps::new(SHARDS, roster.now());
        let (url, roster) = (url.to_owned(), Arc::clone(roster));
        let (told, spread) = watch::channel(None);
        let found = Found::default();
        let watcher =
            Watcher { url, roster, nodes, lease, gaps, found, told, client: Some(client) };
        Ok(Self { task: tokio::spawn(watcher.run(stopped)), stop, spread })
    }

    /// Waits until nodes that have lived for some leases lead the same number of shards, or for too long.
    pub(super) async fn even_spread(&self) {
        let mut spread = self.spread.clone();
        let even = spread.wait_for(|spread| spread.is_some_and(ShardSpread::is_even));
        timeout(SPREAD_LIMIT, even).await.ok();
    }

    pub(super) async fn stop(self) -> Result<Found, Box<dyn Error>> {
        self.stop.send_replace(true);
        Ok(self.task.await?)
    }
}

struct Watcher {
    url: String,
    roster: Arc<Roster>,
    nodes: usize,
    lease: Duration,
    gaps: Gaps,
    found: Found,
    /// Tells each spread that is seen.
    told: watch::Sender<Option<ShardSpread>>,
    client: Option<Client>,
}

impl Watcher {
    async fn run(mut self, stopped: watch::Receiver<bool>) -> Found {
        while !*stopped.borrow() {
            let begun = self.roster.now();
            // While the database is away there is nobody to ask; that time does not count.
            if self.sample().await.is_none() {
                self.client = connect(&self.url).await.ok();
            }
            sleep(EVERY).await;
            self.roster.looked(begun);
        }
        self.found.longest = self.gaps.longest(self.roster.now());
        (self.found.paused, self.found.longest_pause) = self.roster.pauses();
        self.found
    }

    async fn sample(&mut self) -> Option<()> {
        let asked = self.roster.now();
        let answer = timeout(ANSWER, leads(self.client.as_ref()?)).await;
        let leaders = answer.ok()?.ok()?;
        let times = (asked, self.roster.now());
        for shard in 0..SHARDS {
            let leader = leaders.get(&shard).and_then(Option::as_deref);
            let nobody = Some(Duration::ZERO);
            let unwell = leader.map_or(nobody, |name| self.roster.unwell_since(name));
            if let Some(gap) = self.gaps.sample(shard, times, unwell)
                && gap > self.lease
            {
                note(&format!("shard {shard} was without a leader for {gap:?}"));
            }
        }
        self.spread(&leaders);
        Some(())
    }

    fn spread(&mut self, leaders: &BTreeMap<usize, Option<String>>) {
        let settled = self.roster.settled(self.nodes, SPREAD_LEASES * self.lease);
        let Some(well) = settled else { return };
        let led = |name: &String| leaders.values().flatten().filter(|led| *led == name).count();
        let counts: Vec<usize> = well.iter().map(led).collect();
        if let (Some(most), Some(least)) = (counts.iter().max(), counts.iter().min()) {
            self.found.spread = Some(ShardSpread { most: *most, least: *least });
            self.told.send_replace(self.found.spread);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::rig::{Home, StoreKind};

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
    async fn a_pause_of_the_machine_does_not_count() {
        let roster = Roster::new();
        advance(SECOND / 10).await;
        roster.looked(Duration::ZERO);
        let none = (Duration::ZERO, Duration::ZERO);
        assert_eq!((roster.now(), roster.pauses()), (SECOND / 10, none));
        advance(SECOND).await;
        roster.looked(SECOND / 10);
        let pause = SECOND * 9 / 10;
        assert_eq!((roster.now(), roster.pauses()), (SECOND / 5, (pause, pause)));
        roster.database_goes();
        advance(SECOND).await;
        roster.database_is_back();
        roster.looked(SECOND / 5);
        assert_eq!(roster.pauses(), (pause, pause), "the database was away");
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

    /// Two nodes with half of the shards each.
    const TABLES: &str = "
        CREATE TABLE node (run bigint PRIMARY KEY, name text);
        CREATE TABLE lease (shard smallint PRIMARY KEY, run bigint);
        INSERT INTO node VALUES (1, 'a'), (2, 'b');
        INSERT INTO lease SELECT shard, 1 + shard % 2 FROM generate_series(0, 255) AS shard;";

    #[tokio::test]
    async fn a_leader_that_falls_is_missed_until_another_one_is_written_down() {
        if std::env::var_os("STAGGER_TEST_POSTGRES").is_none() {
            return note("skipped: STAGGER_TEST_POSTGRES names no database");
        }
        let home = Home::new("leaders", StoreKind::Postgres).expect("PostgreSQL is installed");
        let url = home.database().expect("it was asked for").url().to_owned();
        let client = connect(&url).await.expect("it answers");
        client.batch_execute(TABLES).await.expect("it is empty");
        let roster = Arc::new(Roster::new());
        roster.rise("a");
        roster.rise("b");
        let found = Found::default();
        let (lease, gaps) = (Duration::ZERO, Gaps::new(SHARDS, roster.now()));
        let told = watch::Sender::new(None);
        let mut watcher =
            Watcher { url, roster, nodes: 2, lease, gaps, found, told, client: Some(client) };
        watcher.sample().await.expect("it answers");
        assert_eq!(watcher.found.spread, Some(ShardSpread { most: 128, least: 128 }));
        assert_eq!(*watcher.told.borrow(), watcher.found.spread);
        watcher.roster.fall("b");
        watcher.sample().await.expect("it answers");
        let client = watcher.client.as_ref().expect("it is connected");
        client.batch_execute("UPDATE lease SET run = 1").await.expect("there is such a table");
        watcher.sample().await.expect("it answers");
        let gap = watcher.gaps.longest(watcher.roster.now());
        assert!(gap > Duration::ZERO);
        let later = watcher.roster.now() + Duration::from_secs(3600);
        assert_eq!(watcher.gaps.longest(later), gap, "it is over");
    }
}
