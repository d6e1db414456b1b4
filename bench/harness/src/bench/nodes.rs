//! Several dispatchers on one database, under the same load: `cargo xtask bench dispatch --nodes 1,2,4`.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::dispatch::{float, rounded};
use super::load::{Load, LoadEnd};
use super::load_fixture::{LoadFixture, Setup};
use crate::rig::{Reaction, StoreKind, build, connect, family_ms, quantile, run_here};
use xtask_workbench::{Format, note};

/// The number of concurrent posters, however many nodes there are.
const CONNECTIONS: usize = 64;
/// Endpoints, each with messages of its own: so many that each node leads some of them.
const ENDPOINTS: usize = 32;
/// The time within which deliveries must end after the last post.
const DRAIN_LIMIT: Duration = Duration::from_secs(120);

/// Measures each number of nodes on a database of its own, and shows.
pub(super) fn run(
    format: Format,
    quick: bool,
    nodes: &[u8],
    binary: Option<&Path>,
) -> Result<bool, Box<dyn Error>> {
    let binary = binary.map_or_else(build, |path| Ok(path.to_owned()))?;
    let spans = if quick { [1, 2] } else { [5, 10] }.map(Duration::from_secs);
    let figures = run_here(measure((&binary, StoreKind::Postgres), nodes, spans))?;
    format.show(&figures, &figures)?;
    Ok(true)
}

/// The measurements. Load, receiver and PostgreSQL share the cores with the nodes: where these were in
/// use before, more nodes can add nothing.
#[derive(Debug, Serialize)]
struct NodeFigures {
    cores: usize,
    rows: Vec<NodesRow>,
}

#[derive(Debug, Serialize)]
struct NodesRow {
    nodes: usize,
    accepted_per_s: f64,
    delivered_per_s: f64,
    /// From accepted to arrived, at half of the rate that the first row delivers.
    p50_ms: f64,
    p99_ms: f64,
    /// Connections of all nodes to PostgreSQL, under full load.
    connections: i64,
    /// Shares of all cores under full load.
    cpu_nodes: f64,
    cpu_postgres: f64,
    /// Per accepted message, until all are delivered: processor time of all processes of PostgreSQL, bytes of its
    /// write-ahead log, and transactions, which it counts up to a second late.
    db_cpu_ms_per_message: f64,
    wal_bytes_per_message: f64,
    transactions_per_message: f64,
    rss_mib: f64,
    /// Arrivals of what had been answered with a 2xx.
    duplicates: usize,
}

async fn measure(
    setup: Setup<'_>,
    nodes: &[u8],
    [posting, paced]: [Duration; 2],
) -> Result<NodeFigures, Box<dyn Error>> {
    let cores = std::thread::available_parallelism()?.get();
    let mut rows: Vec<NodesRow> = Vec::new();
    for nodes in nodes.iter().map(|nodes| usize::from(*nodes)) {
        note(&format!("nodes: {nodes}"));
        let endpoints = (0..ENDPOINTS).map(endpoint).collect();
        let fixture = LoadFixture::of_several(setup, nodes, endpoints).await?;
        let row = NodesRow::under_full_load(&fixture, nodes, posting, cores).await?;
        let least = |row: &NodesRow| row.accepted_per_s.min(row.delivered_per_s);
        let pace = rows.first().map_or_else(|| least(&row), least) / 2.0;
        fixture.log.begin_anew();
        let posted = load(&fixture, Some(pace), paced).post(&fixture.log).await?;
        fixture.log.delivered_in_all(posted.accepted, DRAIN_LIMIT).await?;
        let sorted = fixture.log.latencies(ENDPOINTS);
        let [p50_ms, p99_ms] = [500, 990].map(|part| rounded(quantile(&sorted, part)));
        let duplicates = row.duplicates + fixture.log.duplicates();
        rows.push(NodesRow { p50_ms, p99_ms, duplicates, ..row });
    }
    Ok(NodeFigures { cores, rows })
}

impl NodesRow {
    /// As many messages as can be; without latencies.
    async fn under_full_load(
        fixture: &LoadFixture,
        nodes: usize,
        posting: Duration,
        cores: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let database = fixture.database()?;
        let client = connect(database.url()).await?;
        let cpu = async || -> Result<[u64; 2], Box<dyn Error>> {
            Ok([fixture.cpu_ms()?, family_ms(database.postmaster()?)?])
        };
        let work_before = DatabaseWork::read(&client).await?;
        let (before, begun) = (cpu().await?, Instant::now());
        let counting = async {
            sleep(posting / 2).await;
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stagger'";
            Ok(client.query_one(sql, &[]).await?.try_get::<_, i64>(0)?)
        };
        let (posted, connections) =
            tokio::try_join!(load(fixture, None, posting).post(&fixture.log), counting)?;
        fixture.log.delivered_in_all(posted.accepted, DRAIN_LIMIT).await?;
        let (after, took) = (cpu().await?, begun.elapsed());
        let work = DatabaseWork::read(&client).await?.since(work_before);
        let per_message = |count: u64| -> Result<f64, Box<dyn Error>> {
            Ok(rounded(float(usize::try_from(count)?) / float(posted.accepted)))
        };
        let share = |at: usize| -> Result<f64, Box<dyn Error>> {
            let used = float(usize::try_from(after[at].saturating_sub(before[at]))?);
            Ok(rounded(used / 1e3 / took.as_secs_f64() / float(cores)))
        };
        let posting = posted.until.saturating_duration_since(posted.from);
        let last = fixture.log.last().unwrap_or(posted.until);
        let until_last = last.saturating_duration_since(posted.from);
        Ok(Self {
            nodes,
            accepted_per_s: rounded(float(posted.accepted) / posting.as_secs_f64()),
            delivered_per_s: rounded(float(posted.accepted) / until_last.as_secs_f64()),
            p50_ms: 0.0,
            p99_ms: 0.0,
            connections,
            cpu_nodes: share(0)?,
            cpu_postgres: share(1)?,
            db_cpu_ms_per_message: per_message(after[1].saturating_sub(before[1]))?,
            wal_bytes_per_message: per_message(work.wal_bytes)?,
            transactions_per_message: per_message(work.transactions)?,
            rss_mib: rounded(fixture.rss_mib()?),
            duplicates: fixture.log.duplicates(),
        })
    }
}

/// The work of a database since it was made.
#[derive(Clone, Copy, Debug)]
struct DatabaseWork {
    wal_bytes: u64,
    transactions: u64,
}

impl DatabaseWork {
    async fn read(client: &tokio_postgres::Client) -> Result<Self, Box<dyn Error>> {
        let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, xact_commit \
                   FROM pg_stat_database WHERE datname = current_database()";
        let row = client.query_one(sql, &[]).await?;
        let count = |at: usize| -> Result<u64, Box<dyn Error>> {
            Ok(row.try_get::<_, i64>(at)?.cast_unsigned())
        };
        Ok(Self { wal_bytes: count(0)?, transactions: count(1)? })
    }

    const fn since(self, before: Self) -> Self {
        Self {
            wal_bytes: self.wal_bytes.saturating_sub(before.wal_bytes),
            transactions: self.transactions.saturating_sub(before.transactions),
        }
    }
}

fn load(fixture: &LoadFixture, pace: Option<f64>, span: Duration) -> Load {
    Load { types: ENDPOINTS, ..fixture.load(CONNECTIONS, pace, LoadEnd::After(span)) }
}

/// One that wants the messages of one type.
fn endpoint(number: usize) -> (Value, Reaction) {
    (json!({ "events": [Load::event_type(number)] }), Reaction::Answer(200))
}

impl fmt::Display for NodeFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "cores of the host, load and PostgreSQL included: {}", self.cores)?;
        writeln!(
            f,
            "| nodes | accepted/s | delivered/s | p50 ms | p99 ms | connections | nodes' share of \
             the cores | PostgreSQL's | its ms/message | WAL bytes/message | \
             transactions/message | MiB | duplicates |"
        )?;
        writeln!(f, "|{}", " ---: |".repeat(13))?;
        self.rows.iter().try_for_each(|row| {
            let NodesRow { nodes, accepted_per_s, delivered_per_s, p50_ms, p99_ms, .. } = row;
            write!(f, "| {nodes} | {accepted_per_s} | {delivered_per_s} | {p50_ms} | {p99_ms} ")?;
            let NodesRow { connections, cpu_nodes, cpu_postgres, rss_mib, duplicates, .. } = row;
            let NodesRow { db_cpu_ms_per_message: cpu, wal_bytes_per_message: wal, .. } = row;
            write!(f, "| {connections} | {cpu_nodes} | {cpu_postgres} | {cpu} | {wal} ")?;
            let transactions = row.transactions_per_message;
            writeln!(f, "| {transactions} | {rss_mib} | {duplicates} |")
        })
    }
}
