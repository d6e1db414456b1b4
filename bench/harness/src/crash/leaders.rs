//! Asks the database again and again who leads which shard.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use super::gaps::Gaps;
use super::roster::Roster;
use crate::rig::{SHARDS, connect, leads};
use xtask_workbench::note;

/// The interval between samples.
const EVERY: Duration = Duration::from_millis(20);
/// The longest time until all shards have a leader at the start, in leases, and the time that all
/// nodes must have lived before the spread is checked.
const START_LEASES: u32 = 5;
const SPREAD_LEASES: u32 = 3;
/// The longest time for an answer, after which the connection is closed.
const ANSWER: Duration = Duration::from_secs(5);

/// The one who asks, until it is stopped.
#[derive(Debug)]
pub(super) struct Leaders {
    task: JoinHandle<Found>,
    stop: watch::Sender<bool>,
}

/// The violations found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// The longest that a shard was without a leader that was well.
    pub(super) longest: Duration,
    /// The most and the least shards that a node led when all had lived for some leases; nothing when
    /// that never was.
    pub(super) spread: Option<(usize, usize)>,
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
        let until = Instant::now() + START_LEASES * lease;
        while leads(&client).await?.into_values().filter(|led| led.is_some()).count() < SHARDS {
            if Instant::now() > until {
                return Err(format!("not all shards are led after {START_LEASES} leases").into());
            }
            sleep(EVERY).await;
        }
        let (stop, stopped) = watch::channel(false);
        let gaps = Gaps::new(SHARDS, roster.now());
        let (url, roster) = (url.to_owned(), Arc::clone(roster));
        let found = Found::default();
        let watcher = Watcher { url, roster, nodes, lease, gaps, found, client: Some(client) };
        Ok(Self { task: tokio::spawn(watcher.run(stopped)), stop })
    }

    /// The time until the spread is checked, if nothing happens.
    pub(super) fn until_spread(lease: Duration) -> Duration {
        (SPREAD_LEASES + 1) * lease
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
    client: Option<Client>,
}

impl Watcher {
    async fn run(mut self, stopped: watch::Receiver<bool>) -> Found {
        while !*stopped.borrow() {
            // While the database is away there is nobody to ask; that time does not count.
            if self.sample().await.is_none() {
                self.client = connect(&self.url).await.ok();
            }
            sleep(EVERY).await;
        }
        self.found.longest = self.gaps.longest(self.roster.now());
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
            let (before_most, before_least) = self.found.spread.unwrap_or((*most, *least));
            self.found.spread = Some((before_most.max(*most), before_least.min(*least)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Home, StoreKind};

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
        let mut watcher =
            Watcher { url, roster, nodes: 2, lease, gaps, found, client: Some(client) };
        watcher.sample().await.expect("it answers");
        assert_eq!(watcher.found.spread, Some((128, 128)));
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
