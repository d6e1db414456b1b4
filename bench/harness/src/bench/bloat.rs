//! The growth of the database: `cargo xtask bench bloat`.
//!
//! Many deliveries are accepted, attempted and settled, some of them after a retry, and nothing is
//! pruned: so tables grow by what is kept. What they grow by besides is bloat.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;

use super::dispatch::{float, rounded};
use super::load::{Load, LoadEnd};
use super::load_fixture::LoadFixture;
use crate::rig::{Reaction, StoreKind, build, connect, run_here};
use xtask_workbench::{Format, note};

/// Endpoints, all of which get every message; some of them are down for the first attempts.
const ENDPOINTS: usize = 100;
/// The number of concurrent posters.
const CONNECTIONS: usize = 16;
/// The time within which a hundred thousand deliveries must end: a fifth of the slowest rate ever seen.
const LIMIT: Duration = Duration::from_secs(300);
/// Statistics are written once a second, and autovacuum is to have had its turn; it looks every minute.
const SETTLE: Duration = Duration::from_secs(65);
/// The bound of the second half's growth against the first: both keep the same.
const GROWTH: f64 = 1.1;
/// Dead rows of the table that is changed most, when autovacuum has had its turn.
const DEAD_SHARE: f64 = 0.2;

/// Runs so many deliveries through one node, and shows; false when something has no bound.
pub(super) fn run(format: Format, deliveries: u32) -> Result<bool, Box<dyn Error>> {
    let binary = build()?;
    let figures = run_here(async {
        let endpoints = (0..ENDPOINTS).map(|_| endpoint()).collect();
        let fixture = LoadFixture::start((&binary, StoreKind::Postgres), endpoints).await?;
        measure(&fixture, usize::try_from(deliveries)?).await
    })?;
    format.show(&figures, &figures)?;
    Ok(figures.bounded)
}

#[derive(Debug, Serialize)]
struct BloatFigures {
    deliveries: usize,
    delivered_per_s: f64,
    /// Bytes of all tables and indexes that a delivery adds, in the first half and in the second.
    bytes_per_delivery: [f64; 2],
    /// Dead rows of `delivery` over all its rows, before it was vacuumed by hand.
    dead_share: f64,
    /// Whether the second half added no more than the first, and dead rows were few.
    bounded: bool,
    tables: BTreeMap<String, BloatTable>,
}

/// One table at four moments: empty, after half of the deliveries, after all, and vacuumed by hand.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct BloatTable {
    before: TableSize,
    half: TableSize,
    after: TableSize,
    vacuumed: TableSize,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct TableSize {
    /// All bytes, and those of indexes.
    bytes: i64,
    index_bytes: i64,
    rows: i64,
    dead: i64,
    /// Changes of rows, and those that touched no index.
    updates: i64,
    hot_updates: i64,
}

type Sizes = BTreeMap<String, TableSize>;

async fn measure(fixture: &LoadFixture, deliveries: usize) -> Result<BloatFigures, Box<dyn Error>> {
    let client = connect(fixture.database()?.url()).await?;
    let messages = deliveries.div_ceil(ENDPOINTS).div_ceil(2);
    let before = sizes(&client).await?;
    let begun = Instant::now();
    through(fixture, messages).await?;
    let took = begun.elapsed();
    sleep(SETTLE).await;
    let half = sizes(&client).await?;
    let begun = Instant::now();
    through(fixture, messages).await?;
    let took = took + begun.elapsed();
    sleep(SETTLE).await;
    let after = sizes(&client).await?;
    note("vacuum");
    client.batch_execute("VACUUM").await?;
    sleep(Duration::from_secs(2)).await;
    let vacuumed = sizes(&client).await?;
    Ok(BloatFigures::of(2 * messages * ENDPOINTS, took, [before, half, after, vacuumed]))
}

/// Messages from the first post to the last settlement.
async fn through(fixture: &LoadFixture, messages: usize) -> Result<(), Box<dyn Error>> {
    note(&format!("{} deliveries", messages * ENDPOINTS));
    fixture.log.begin_anew();
    let load = fixture.load(CONNECTIONS, None, LoadEnd::Messages(messages));
    let posted = Load { types: Load::ONE_TYPE, ..load }.post(&fixture.log).await?;
    let hundred_thousands = u32::try_from(messages * ENDPOINTS / 100_000)? + 1;
    let deliveries = posted.accepted * ENDPOINTS;
    fixture.log.delivered_in_all(deliveries, LIMIT * hundred_thousands).await?;
    let mut driver = fixture.driver().await?;
    while driver.is_open().await? {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Each table of ours; the partitions of one are one.
async fn sizes(client: &Client) -> Result<Sizes, Box<dyn Error>> {
    let sql = "SELECT relname::text, pg_total_relation_size(relid), pg_indexes_size(relid), \
               n_live_tup, n_dead_tup, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables";
    let mut sizes = Sizes::new();
    for row in client.query(sql, &[]).await? {
        let name: String = row.try_get(0)?;
        let name = if name.starts_with("attempt") { "attempt" } else { &name };
        let size = sizes.entry(name.to_owned()).or_default();
        size.bytes += row.try_get::<_, i64>(1)?;
        size.index_bytes += row.try_get::<_, i64>(2)?;
        size.rows += row.try_get::<_, i64>(3)?;
        size.dead += row.try_get::<_, i64>(4)?;
        size.updates += row.try_get::<_, i64>(5)?;
        size.hot_updates += row.try_get::<_, i64>(6)?;
    }
    Ok(sizes)
}

impl BloatFigures {
    fn of(deliveries: usize, took: Duration, moments: [Sizes; 4]) -> Self {
        let all = |sizes: &Sizes| bytes(sizes.values().map(|size| size.bytes).sum());
        let [before, half, after, _] = &moments;
        let per_half = float(deliveries / 2);
        let grown = [all(half) - all(before), all(after) - all(half)];
        let changed = after.get("delivery").copied().unwrap_or_default();
        let dead_share = bytes(changed.dead) / bytes(changed.dead + changed.rows).max(1.0);
        let mut tables: BTreeMap<String, BloatTable> = BTreeMap::new();
        let [before, half, after, vacuumed] = moments;
        for (name, before) in before {
            let of = |sizes: &Sizes| sizes.get(&name).copied().unwrap_or_default();
            let table =
                BloatTable { before, half: of(&half), after: of(&after), vacuumed: of(&vacuumed) };
            tables.insert(name, table);
        }
        Self {
            deliveries,
            delivered_per_s: rounded(float(deliveries) / took.as_secs_f64()),
            bytes_per_delivery: grown.map(|grown| rounded(grown / per_half)),
            dead_share: rounded(dead_share),
            bounded: grown[1] <= grown[0] * GROWTH && dead_share <= DEAD_SHARE,
            tables,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 bytes")]
const fn bytes(count: i64) -> f64 {
    count as f64
}

/// One in ten of these fails at first, so that its delivery waits and is changed twice.
fn endpoint() -> (Value, Reaction) {
    let policy = json!({
        "backoff": { "base": "50ms", "cap": "500ms" },
        "limits": { "max_attempts": 1000 },
        "budget": "unlimited",
        "breaker": { "consecutive": 1000 },
    });
    (json!({ "policy": policy }), Reaction::FirstFails(10))
}

impl fmt::Display for BloatFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.bytes_per_delivery;
        writeln!(f, "{} deliveries, {} a second", self.deliveries, self.delivered_per_s)?;
        writeln!(f, "{first} bytes a delivery in the first half, {second} in the second")?;
        writeln!(f, "{} of the rows of delivery dead at the end", self.dead_share)?;
        writeln!(f, "bounded: {}", self.bounded)?;
        writeln!(
            f,
            "| table | MiB before | half | after | vacuumed | of it indexes | rows | dead before vacuum | updates | HOT |"
        )?;
        writeln!(f, "| --- |{}", " ---: |".repeat(9))?;
        let mib = |count: i64| rounded(bytes(count) / 1_048_576.0);
        self.tables.iter().try_for_each(|(name, BloatTable { before, half, after, vacuumed })| {
            let [before, half, full] = [before, half, after].map(|size| mib(size.bytes));
            let [last, indexes] = [vacuumed.bytes, vacuumed.index_bytes].map(mib);
            let TableSize { rows, dead, updates, hot_updates, .. } = after;
            write!(f, "| {name} | {before} | {half} | {full} | {last} | {indexes} ")?;
            writeln!(f, "| {rows} | {dead} | {updates} | {hot_updates} |")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of two deliveries whose table `delivery` has these bytes and dead rows.
    fn run(bytes: [i64; 3], dead: i64) -> BloatFigures {
        let moment = |bytes: i64| {
            let size = TableSize { bytes, rows: 80, dead, ..TableSize::default() };
            Sizes::from([("delivery".to_owned(), size)])
        };
        let [before, half, after] = bytes.map(moment);
        BloatFigures::of(2, Duration::from_secs(1), [before, half, after.clone(), after])
    }

    #[test]
    fn what_grows_faster_the_more_there_is_has_no_bound() {
        assert!(run([100, 1_100, 2_200], 0).bounded);
        assert!(!run([100, 1_100, 2_300], 0).bounded);
        assert_eq!(run([100, 1_100, 2_200], 0).bytes_per_delivery, [1_000.0, 1_100.0]);
    }

    #[test]
    fn dead_rows_that_nobody_clears_away_have_no_bound() {
        assert!(run([0, 100, 200], 20).bounded);
        assert!(!run([0, 100, 200], 21).bounded);
    }
}
