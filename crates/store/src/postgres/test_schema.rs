//! A schema for one test, in the database that `STAGGER_TEST_POSTGRES` names.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::runtime::Builder;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::test_server::Proxy;
use super::{PostgresAddress, PostgresOptions, PostgresStore};

/// A new schema, dropped with this.
#[derive(Debug)]
pub(crate) struct TestSchema {
    url: String,
    name: String,
}

impl TestSchema {
    /// A schema in the database of the variable; none, with a message, where it is not set.
    pub(crate) async fn new() -> Option<Self> {
        let Ok(url) = std::env::var("STAGGER_TEST_POSTGRES") else {
            eprintln!("skipped: STAGGER_TEST_POSTGRES names no database");
            return None;
        };
        Some(Self::of(url).await)
    }

    /// A schema in this database.
    pub(crate) async fn of(url: String) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let name = format!("test_{process}_{number}");
        run(&url, &format!("CREATE SCHEMA {name}")).await;
        Self { url, name }
    }

    pub(crate) fn address(&self) -> PostgresAddress {
        self.url_with("").parse().unwrap()
    }

    /// The address with a setting of the session.
    pub(crate) fn address_with(&self, setting: &str) -> PostgresAddress {
        self.url_with(&format!("%20{setting}")).parse().unwrap()
    }

    /// The address in full.
    pub(crate) fn url_with(&self, settings: &str) -> String {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{separator}options=-csearch_path%3D{}{settings}", self.url, self.name)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresStore::open(&self.address(), PostgresOptions::default()).await.unwrap()
    }

    /// A connection of a test's own.
    pub(crate) async fn connect(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path = {}", self.name)).await.unwrap();
        client
    }

    /// The address through a proxy to the same server.
    pub(crate) async fn through_proxy(&self) -> (Proxy, PostgresAddress) {
        let url = self.url_with("");
        let (_, rest) = url.split_once("host=").unwrap();
        let (folder, _) = rest.split_once('&').unwrap_or((rest, ""));
        let proxy = Proxy::start(folder).await;
        let wire = format!("host=127.0.0.1&port={}", proxy.port);
        let address = url.replace(&format!("host={folder}"), &wire).parse().unwrap();
        (proxy, address)
    }

    /// Runs statements of a test's own.
    pub(crate) async fn run(&self, sql: &str) {
        run(&self.url, &format!("SET search_path = {}; {sql}", self.name)).await;
    }
}

impl TestSchema {
    /// The plan of PostgreSQL for a statement with this many parameters, if it may neither scan nor
    /// sort unless there is no other way.
    pub(crate) async fn plan(&self, sql: &str, parameters: usize) -> String {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let nothing = vec!["NULL"; parameters].join(", ");
        let steps = format!(
            "SET search_path = {}; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
             SET enable_sort = off; SET enable_incremental_sort = off; SET enable_bitmapscan = off; \
             PREPARE walk AS {sql}; EXPLAIN EXECUTE walk ({nothing})",
            self.name
        );
        let told = client.simple_query(&steps).await.unwrap();
        let line = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        };
        told.iter().filter_map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for TestSchema {
    fn drop(&mut self) {
        // A test that has failed may hold locks, and cannot let go of them before this has ended.
        let sql = format!("SET lock_timeout = '5s'; DROP SCHEMA {} CASCADE", self.name);
        let url = self.url.clone();
        // Not within the runtime of the test, which may be at its end.
        let work = move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                if let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await {
                    tokio::spawn(connection);
                    client.batch_execute(&sql).await.ok();
                }
            });
        };
        std::thread::spawn(work).join().ok();
    }
}

/// A store in a schema of its own.
#[derive(Debug)]
pub(crate) struct ScratchSchema {
    store: PostgresStore,
    pub(crate) schema: TestSchema,
}

impl ScratchSchema {
    pub(crate) async fn new() -> Option<Self> {
        let schema = TestSchema::new().await?;
        Some(Self { store: schema.open().await, schema })
    }
}

impl Deref for ScratchSchema {
    type Target = PostgresStore;

    fn deref(&self) -> &PostgresStore {
        &self.store
    }
}

async fn run(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(sql).await.unwrap();
}
