//! A database of the previous release becomes one of this release, with all its rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stagger::{Instant, Span};
use stagger_scheduler::model::DeliveryState::{Delivered, Pending};
use tokio::time::timeout;
use tokio_postgres::Client;
use uuid::Uuid;

use super::migrations::{VERSION, migrate_postgres, steps_until};
use super::test_schema::TestSchema;
use super::{PostgresOptions, PostgresStore, check_postgres};
use crate::testing::fixture::{app, application, at, endpoint, ep, msg, setting, settled};
use crate::{
    Cluster, ClusterAccept, DeliveryStore, DocumentKind, EncryptionKeys, Fence, NodeIdentity,
    ShardId, Shards, document,
};

/// A schema as version 1 made it, with a run, an application, an endpoint, and messages that the old
/// statements have stored.
async fn old() -> Option<(TestSchema, Client)> {
    let schema = TestSchema::new().await?;
    let client = schema.connect().await;
    client.batch_execute(&steps_until(1)).await.unwrap();
    let first = document::of_application(&application(1), &EncryptionKeys::default()).unwrap();
    let insert = "INSERT INTO application (id, document) VALUES ($1, $2)";
    client.execute(insert, &[app(1).as_uuid(), &first]).await.unwrap();
    let (settings, endpoint_state) =
        (document::of_endpoint(&endpoint(1, 1), &EncryptionKeys::default()).unwrap(), "{}");
    let insert =
        "INSERT INTO endpoint (id, application, document, standing) VALUES ($1, $2, $3, $4)";
    let (to, of) = (ep(1), app(1));
    let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [to.as_uuid(), of.as_uuid(), &settings, &endpoint_state];
    client.execute(insert, &bound).await.unwrap();
    client.batch_execute("UPDATE mark SET value = 7 WHERE name = 'run'").await.unwrap();
    for n in 1..=3 {
        old_accept(&client, n).await;
    }
    Some((schema, client))
}

/// The statements of version 1 to accept message `n` for endpoint 1.
async fn old_accept(client: &Client, n: u64) {
    let (id, to, of) = (msg(n), ep(1), app(1));
    let (id, to, of) = (id.as_uuid(), to.as_uuid(), of.as_uuid());
    let time = i64::try_from(at(n).as_nanos()).unwrap();
    let shard = i16::from(ShardId::of(ep(1)).0);
    client.batch_execute("BEGIN").await.unwrap();
    let sql = "INSERT INTO message (id, application, event_type, content_type, size, created_at) \
               VALUES ($1, $2, 'odd.one', 'application/json', 2, $3)";
    client.execute(sql, &[id, of, &time]).await.unwrap();
    let sql = "INSERT INTO payload (message, bytes) VALUES ($1, '{}')";
    client.execute(sql, &[id]).await.unwrap();
    let sql = "INSERT INTO delivery (message, endpoint, application, shard, state, ended, attempts, \
               replays, due, updated_at) VALUES ($1, $2, $3, $4, 0, 0, 0, 0, $5, $5)";
    client.execute(sql, &[id, to, of, &shard, &time]).await.unwrap();
    for counted in [&Uuid::nil(), to] {
        let sql = "INSERT INTO tally (endpoint, counter, pending, waiting, delivered, dead, cancelled) \
                   VALUES ($1, 0, 1, 0, 0, 0, 0) ON CONFLICT (endpoint, counter) \
                   DO UPDATE SET pending = tally.pending + 1";
        client.execute(sql, &[counted]).await.unwrap();
    }
    client.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test]
async fn deliveries_of_version_1_are_led_and_settled() {
    let Some((schema, _client)) = old().await else { return };
    let refused = PostgresStore::open(&schema.address(), PostgresOptions::default()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("version 1, but this release needs 8"), "{refused}");
    let options = PostgresOptions { migrate: true, ..PostgresOptions::default() };
    let store = PostgresStore::open(&schema.address(), options).await.unwrap();
    let health = check_postgres(&schema.address()).await.unwrap();
    assert_eq!((health.version, health.messages, health.deliveries.of(Pending)), (VERSION, 3, 3));
    // An earlier run cannot write any more, whatever its name.
    let fence = store.join(&"ann".into()).await.unwrap().fence;
    assert!(fence > Fence(8), "the next number, and random bits");
    assert!(store.settle(Fence(7), Vec::new()).await.unwrap_err().is_conflict());
    let shards = store.acquire(fence, Shards::COUNT).await.unwrap();
    assert_eq!(shards, Shards::ALL);
    let mut open = Vec::new();
    let covered = store.load(shards, &mut |page| open.extend(page)).await.unwrap();
    assert_eq!((open.len(), covered.len()), (3, 0));
    store.settle(fence, (1..=3).map(|n| settled(n, 1, 1, Delivered, 9)).collect()).await.unwrap();
    assert_eq!(store.counts(None).await.unwrap().of(Delivered), 3);
    assert_eq!(store.changes_since(0).await.unwrap().to, 0);
    store.put_endpoint(endpoint(1, 1)).await.unwrap();
    let lead = crate::Lead { fence, shards };
    let entry = store.cluster().unwrap().accept(lead, 0, Vec::new()).await.unwrap();
    assert_eq!(entry, ClusterAccept::Outdated);
    check_postgres(&schema.address()).await.unwrap();
}

/// A database of version 3 may have arrivals, and gets more of them from nodes of that release.
#[tokio::test]
async fn arrivals_of_version_3_are_found_and_forgotten() {
    let Some(schema) = TestSchema::new().await else { return };
    let client = schema.connect().await;
    client.batch_execute(&steps_until(3)).await.unwrap();
    let first = document::of_application(&application(1), &EncryptionKeys::default()).unwrap();
    let insert = "INSERT INTO application (id, document) VALUES ($1, $2)";
    client.execute(insert, &[app(1).as_uuid(), &first]).await.unwrap();
    let shard = i16::from(ShardId::of(ep(1)).0);
    let old_arrival = async |n| {
        old_accept(&client, n).await;
        let sql = "INSERT INTO arrival (shard, message, endpoint) VALUES ($1, $2, $3)";
        client.execute(sql, &[&shard, msg(n).as_uuid(), ep(1).as_uuid()]).await.unwrap();
    };
    old_arrival(1).await;
    assert_eq!(migrate_postgres(&schema.address()).await.unwrap(), 3);
    old_arrival(2).await;
    let store = schema.open().await;
    let of: Shards = [ShardId::of(ep(1))].into_iter().collect();
    let found = store.arrivals(of, &[], 9).await.unwrap();
    let names: Vec<_> = found.iter().filter_map(|it| Some(it.delivery?.message)).collect();
    assert_eq!(names, [msg(1), msg(2)]);
    let left = store.arrivals(of, &[found[0].number], 9).await.unwrap();
    assert_eq!(left, found[1..]);
    let covered = store.load(of, &mut |_| ()).await.unwrap();
    assert_eq!(covered, [found[1].number]);
    assert_eq!(store.arrivals(of, &covered, 9).await.unwrap(), []);
    check_postgres(&schema.address()).await.unwrap();
}

#[tokio::test]
async fn a_dispatcher_of_version_1_may_go_on_writing_meanwhile() {
    let Some((schema, client)) = old().await else { return };
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let is_over = Arc::clone(&is_over);
        async move {
            let mut n = 3;
            while !is_over.load(Ordering::Relaxed) || n < 10 {
                n += 1;
                old_accept(&client, n).await;
            }
            n
        }
    });
    // It holds the newest run, as a settlement of version 1 does.
    let settling = schema.connect().await;
    let hold = "BEGIN; SELECT value FROM mark WHERE name = 'run' FOR SHARE";
    settling.batch_execute(hold).await.unwrap();
    assert_eq!(migrate_postgres(&schema.address()).await.unwrap(), 1);
    is_over.store(true, Ordering::Relaxed);
    let written = timeout(Duration::from_secs(30), writing).await.unwrap().unwrap();
    settling.batch_execute("COMMIT").await.unwrap();
    let health = check_postgres(&schema.address()).await.unwrap();
    assert_eq!((health.version, health.messages), (VERSION, written));
    let store = schema.open().await;
    let mut open = 0;
    store.load(Shards::ALL, &mut |page| open += page.len() as u64).await.unwrap();
    assert_eq!(open, written);
}

#[tokio::test]
async fn without_a_lock_nothing_has_changed() {
    let Some((schema, client)) = old().await else { return };
    client.batch_execute("BEGIN; LOCK TABLE mark IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let refused = migrate_postgres(&schema.address()).await.unwrap_err();
    assert!(refused.is_unavailable() && refused.to_string().contains("(55P03)"), "{refused}");
    client.batch_execute("ROLLBACK").await.unwrap();
    let unchanged = "DO $$ BEGIN ASSERT to_regclass('node') IS NULL; \
                     ASSERT (SELECT max(version) FROM migration) = 1; END $$";
    schema.run(unchanged).await;
    assert_eq!(migrate_postgres(&schema.address()).await.unwrap(), 1);
    check_postgres(&schema.address()).await.unwrap();
}

/// A node takes arrivals in the order of arrivals and deliveries; the migration wants them in the other one.
#[tokio::test]
async fn a_migration_ends_no_transaction_of_a_node() {
    let Some(schema) = TestSchema::new().await else { return };
    let client = schema.connect().await;
    client.batch_execute(&steps_until(3)).await.unwrap();
    let first = document::of_application(&application(1), &EncryptionKeys::default()).unwrap();
    let insert = "INSERT INTO application (id, document) VALUES ($1, $2)";
    client.execute(insert, &[app(1).as_uuid(), &first]).await.unwrap();
    old_accept(&client, 1).await;
    client.batch_execute("BEGIN; DELETE FROM arrival").await.unwrap();
    let address = schema.address();
    let migrating = tokio::spawn(async move { migrate_postgres(&address).await });
    // It has the deliveries, and waits for the arrivals.
    let watcher = schema.connect().await;
    let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'arrival'::regclass";
    // One that ends without having waited fails below.
    while !migrating.is_finished() && watcher.query(waits, &[]).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    // Without a deadlock this is only a wait.
    client.batch_execute("UPDATE delivery SET attempts = attempts; COMMIT").await.unwrap();
    assert_eq!(migrating.await.unwrap().unwrap(), 3);
    check_postgres(&schema.address()).await.unwrap();
}

/// A name of version 7 has the address, the version and the start of its node, or is the address of an earlier release.
#[tokio::test]
async fn nodes_of_version_7_are_shown_with_their_version_and_start() {
    let Some(schema) = TestSchema::new().await else { return };
    let client = schema.connect().await;
    client.batch_execute(&steps_until(7)).await.unwrap();
    let old = "INSERT INTO node (run, name, slot, beat, leaving) VALUES \
               (1, '10.0.0.7:8080 0.4.0 2026-11-28T06:00:00.250Z', 0, 1, false), \
               (2, '10.0.0.8:8080', 1, 1, false), (3, 'a b c', 2, 1, false)";
    client.batch_execute(old).await.unwrap();
    assert_eq!(migrate_postgres(&schema.address()).await.unwrap(), 7);
    let store = schema.open().await;
    let view = store.heartbeat(Fence(1), false).await.unwrap();
    let started_at = Instant::ORIGIN + Span::from_millis(1_795_845_600_250);
    let (address, version) = ("10.0.0.7:8080".to_owned(), Some("0.4.0".to_owned()));
    let first = NodeIdentity { address, version, started_at: Some(started_at) };
    let nodes: Vec<_> = view.members.into_iter().map(|it| it.node).collect();
    assert_eq!(nodes, [first, "10.0.0.8:8080".into(), "a b c".into()]);
    // A node of version 7 that joins now, by its own statement.
    let late = "INSERT INTO node (run, name, slot, beat, leaving) VALUES (4, 'late', 3, 0, false)";
    client.batch_execute(late).await.unwrap();
    let members = store.heartbeat(Fence(1), false).await.unwrap().members;
    assert_eq!(members[3].node, "late".into());
}

/// Nodes of version 6 refuse kinds of changes that they do not know, and read all settings anew where a number is missing.
#[tokio::test]
async fn a_changed_document_is_a_missing_number_to_nodes_of_version_6() {
    let Some(schema) = TestSchema::new().await else { return };
    let store = schema.open().await;
    store.put_application(application(1)).await.unwrap();
    store.put_document(setting(DocumentKind::EventType, "a")).await.unwrap();
    let client = schema.connect().await;
    let sql = "SELECT (SELECT value FROM mark WHERE name = 'news'), count(*), max(kind) FROM news";
    let row = client.query_one(sql, &[]).await.unwrap();
    let (last, known, kind): (i64, i64, i16) = (row.get(0), row.get(1), row.get(2));
    assert_eq!((last, known, kind), (2, 1, 0));
    assert_eq!(store.changes_since(0).await.unwrap().changes.map(|all| all.len()), Some(2));
}
