//! A schema of a test's own in the database that `STAGGER_TEST_POSTGRES` names, and nodes on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stagger::Span;
use stagger_dispatch::node::{Node, NodeOptions};
use stagger_dispatch::sender::{SendOptions, Sender};
use stagger_dispatch::store::tokio_postgres::{self, Client, NoTls};
use stagger_dispatch::store::{PostgresOptions, PostgresStore, Shards};

/// A node that died is replaced within this time.
const LEASE: Span = Span::from_secs(3);
/// No test waits for longer than this.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// A schema, dropped with this.
pub(crate) struct Database {
    url: String,
    schema: String,
}

impl Database {
    /// None, with a message, where the variable is not set.
    #[expect(clippy::print_stderr, reason = "the output of tests shows what was left out")]
    pub(crate) async fn new() -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let Ok(url) = std::env::var("STAGGER_TEST_POSTGRES") else {
            eprintln!("skipped: STAGGER_TEST_POSTGRES names no database");
            return None;
        };
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let schema = format!("embed_{process}_{number}");
        let database = Self { url, schema };
        let sql = format!("CREATE SCHEMA {0}; CREATE SCHEMA {0}_host", database.schema);
        database.connect_to("public").await.batch_execute(&sql).await.expect("a schema");
        Some(database)
    }

    /// A connection of the host, whose own tables are in another schema.
    pub(crate) async fn connect(&self) -> Client {
        self.connect_to(&format!("{}_host", self.schema)).await
    }

    /// A connection that looks into the tables of the store.
    pub(crate) async fn connect_to_store(&self) -> Client {
        self.connect_to(&self.schema).await
    }

    async fn connect_to(&self, schema: &str) -> Client {
        let (client, connection) =
            tokio_postgres::connect(&self.url, NoTls).await.expect("it listens");
        tokio::spawn(connection);
        let set = format!("SET search_path = {schema}");
        client.batch_execute(&set).await.expect("a setting");
        client
    }

    /// Starts a node.
    pub(crate) async fn node(&self) -> Node {
        let separator = if self.url.contains('?') { '&' } else { '?' };
        let url = format!("{}{separator}options=-csearch_path%3D{}", self.url, self.schema);
        let address = url.parse().expect("an address");
        let options = PostgresOptions { lease: LEASE, ..PostgresOptions::default() };
        let store = PostgresStore::open(&address, options).await.expect("it opens");
        let allowed = SendOptions { allow_private: true, ..SendOptions::default() };
        let sender = Sender::new(allowed).expect("no certificates");
        let options = NodeOptions { lease: LEASE, ..NodeOptions::default() };
        Node::start(Arc::new(store), sender, options).await.expect("it joins")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!(
            "SET lock_timeout = '5s'; DROP SCHEMA {0} CASCADE; DROP SCHEMA {0}_host CASCADE",
            self.schema
        );
        let url = self.url.clone();
        // Not within the runtime of the test, which may be at its end.
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                if let Ok((client, connection)) = tokio_postgres::connect(&url, NoTls).await {
                    tokio::spawn(connection);
                    client.batch_execute(&sql).await.ok();
                }
            });
        };
        std::thread::spawn(work).join().ok();
    }
}

/// Waits until the nodes lead all shards together, an equal part each.
pub(crate) async fn until_even(nodes: &[&Node]) {
    let share = Shards::COUNT / nodes.len();
    until("the shards are spread evenly", || nodes.iter().all(|node| node.led().len() == share))
        .await;
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let reached = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, reached).await.unwrap_or_else(|_| panic!("never: {what}"));
}
