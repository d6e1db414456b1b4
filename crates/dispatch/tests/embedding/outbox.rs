//! Messages that are accepted within a transaction of the host.

use stagger::Span;
use stagger_dispatch::node::{Node, Submission};
use stagger_dispatch::store::ShardId;
use stagger_scheduler::model::{Application, ApplicationId, EventValidation, MessageId};
use stagger_testkit::server::{Reaction, Script, SeenRequest, TestServer};
use uuid::Uuid;

use crate::database::{Database, TIMEOUT, until_even};
use crate::shared::{application, endpoint, id, submission};

fn shop() -> ApplicationId {
    ApplicationId::from_uuid(Uuid::from_u128(1))
}

/// An application with `count` endpoints of one receiver.
async fn furnish(node: &Node, receiver: &TestServer, count: u128) {
    node.put_application(application(shop())).await.expect("it is stored");
    for n in 1..=count {
        let url = receiver.url(&format!("/{n}"));
        node.put_endpoint(endpoint(shop(), n, &url, 100)).await.expect("it is stored");
    }
}

fn keyed(payload: &str, key: &str) -> Submission {
    Submission { key: Some(key.parse().expect("a key")), ..submission(payload) }
}

/// The ids of received messages with their paths, sorted.
fn received(seen: &[SeenRequest]) -> Vec<(String, String)> {
    let id = |seen: &SeenRequest| seen.headers["webhook-id"].to_str().expect("text").to_owned();
    let mut all: Vec<_> = seen.iter().map(|seen| (id(seen), seen.path.clone())).collect();
    all.sort();
    all
}

fn expected(message: MessageId, endpoints: u128) -> Vec<(String, String)> {
    (1..=endpoints).map(|n| (message.to_string(), format!("/{n}"))).collect()
}

async fn until_received(receiver: &TestServer, count: usize) {
    let all = tokio::time::timeout(TIMEOUT, receiver.until_taken(count)).await;
    all.expect("all are received in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_was_sent_before_the_commit_or_after_a_rollback() {
    let Some(database) = Database::new().await else { return };
    let receiver = TestServer::start(Script::always(Reaction::ok(""))).await;
    // Endpoints of both nodes, so that one message arrives by both ways.
    let (one, other) = (database.node().await, database.node().await);
    until_even(&[&one, &other]).await;
    let count = 8;
    furnish(&one, &receiver, count).await;
    let led = |node: &Node| (1..=count).any(|n| node.led().contains(ShardId::of(id(n))));
    assert!(led(&one) && led(&other));

    let mut host = database.connect().await;
    host.batch_execute("CREATE TABLE purchase (number int PRIMARY KEY)").await.expect("a table");
    let mut lost = host.transaction().await.expect("it begins");
    lost.batch_execute("INSERT INTO purchase VALUES (1)").await.expect("a row");
    one.accept_within(&mut lost, shop(), vec![submission("1")]).await.expect("it is accepted");
    lost.rollback().await.expect("it is rolled back");

    let mut kept = host.transaction().await.expect("it begins");
    kept.batch_execute("INSERT INTO purchase VALUES (2)").await.expect("a row");
    let accepted = one.accept_within(&mut kept, shop(), vec![submission("2")]).await;
    let message = accepted.expect("it is accepted")[0].id;
    assert_eq!(one.store().message(message).await.expect("it reads"), None);
    assert!(receiver.seen().is_empty(), "nothing is sent before the commit");
    kept.commit().await.expect("it is committed");

    let all = usize::try_from(count).expect("few");
    until_received(&receiver, all).await;
    assert_eq!(received(&receiver.seen()), expected(message, count));
    let rows = host.query("SELECT number FROM purchase", &[]).await.expect("it reads");
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [2]);
    one.shutdown(Span::from_secs(5)).await;
    other.shutdown(Span::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_died_before_the_commit_took_the_message_with_it() {
    let Some(database) = Database::new().await else { return };
    let receiver = TestServer::start(Script::always(Reaction::ok(""))).await;
    let node = database.node().await;
    until_even(&[&node]).await;
    furnish(&node, &receiver, 3).await;
    let mut host = database.connect().await;
    let mut caller = host.transaction().await.expect("it begins");
    let accepted = node.accept_within(&mut caller, shop(), vec![submission("1")]).await;
    let message = accepted.expect("it is accepted")[0].id;
    // Dropped without a shutdown it ends as in a crash.
    drop(node);
    caller.commit().await.expect("it is committed");
    let next = database.node().await;
    until_received(&receiver, 3).await;
    assert_eq!(received(&receiver.seen()), expected(message, 3));
    next.shutdown(Span::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_died_before_its_commit_left_a_message_or_a_key() {
    let Some(database) = Database::new().await else { return };
    let receiver = TestServer::start(Script::always(Reaction::ok(""))).await;
    let node = database.node().await;
    until_even(&[&node]).await;
    furnish(&node, &receiver, 1).await;
    let mut host = database.connect().await;
    let process: i32 = host.query_one("SELECT pg_backend_pid()", &[]).await.expect("a row").get(0);
    let mut caller = host.transaction().await.expect("it begins");
    node.accept_within(&mut caller, shop(), vec![keyed("1", "order-1")]).await.expect("accepted");
    // The server ends the session as it does when the host's machine is gone.
    let watcher = database.connect_to_store().await;
    watcher.execute("SELECT pg_terminate_backend($1)", &[&process]).await.expect("it is ended");
    caller.commit().await.expect_err("its session has ended");
    // The key is free again, also for the API's own way.
    let accepted = node.accept(shop(), vec![keyed("2", "order-1")]).await.expect("accepted");
    assert!(!accepted[0].repeated);
    until_received(&receiver, 1).await;
    assert_eq!(received(&receiver.seen()), expected(accepted[0].id, 1));
    node.shutdown(Span::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_checks_of_the_api_were_left_out_within_a_transaction() {
    let Some(database) = Database::new().await else { return };
    let receiver = TestServer::start(Script::always(Reaction::ok(""))).await;
    let node = database.node().await;
    until_even(&[&node]).await;
    furnish(&node, &receiver, 1).await;
    let first = node.accept(shop(), vec![keyed("1", "once")]).await.expect("accepted")[0];
    let mut host = database.connect().await;
    let mut caller = host.transaction().await.expect("it begins");
    let mut ask = async |messages| node.accept_within(&mut caller, shop(), messages).await;
    let again = ask(vec![keyed("1", "once")]).await.expect("it is the same");
    assert_eq!((again[0].id, again[0].repeated), (first.id, true));
    let other = ask(vec![submission("2"), keyed("3", "once")]).await.expect_err("other contents");
    assert!(other.is_conflict(), "{other}");
    let event_type = "stagger.own".parse().expect("a type");
    let own = ask(vec![Submission { event_type, ..submission("4") }]).await.expect_err("its own");
    assert!(own.is_invalid() && own.to_string().contains("stagger.own"), "{own}");
    let many = ask(vec![submission("5"); 1001]).await.expect_err("too many");
    assert!(many.is_invalid() && many.to_string().contains("1001"), "{many}");
    // An endpoint made after the node's settings were read last, by another node, gets the message too.
    let other_node = database.node().await;
    let added = endpoint(shop(), 2, &receiver.url("/2"), 100);
    other_node.put_endpoint(added).await.expect("it is stored");
    let sent = ask(vec![submission("6")]).await.expect("accepted")[0].id;
    caller.commit().await.expect("it is committed");
    until_received(&receiver, 3).await;
    let mut all = [expected(first.id, 1), expected(sent, 2)].concat();
    all.sort();
    assert_eq!(received(&receiver.seen()), all);
    let unknown = ApplicationId::from_uuid(Uuid::from_u128(9));
    let mut caller = host.transaction().await.expect("it begins");
    let refused = node.accept_within(&mut caller, unknown, vec![submission("7")]).await;
    assert!(refused.expect_err("no application").is_not_found());
    node.shutdown(Span::from_secs(5)).await;
    other_node.shutdown(Span::from_secs(5)).await;
}

#[tokio::test]
async fn a_store_without_transactions_took_one() {
    let Some(database) = Database::new().await else { return };
    let sender = stagger_dispatch::sender::Sender::new(Default::default()).expect("no files");
    let store = std::sync::Arc::new(stagger_dispatch::store::MemoryStore::default());
    let node = Node::start(store, sender, Default::default()).await.expect("it starts");
    node.put_application(application(shop())).await.expect("it is stored");
    let mut host = database.connect().await;
    let mut caller = host.transaction().await.expect("it begins");
    let refused = node.accept_within(&mut caller, shop(), vec![submission("1")]).await;
    let refused = refused.expect_err("there is no database").to_string();
    assert!(refused.contains("PostgreSQL"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_the_catalogue_refuses_was_accepted_within_a_transaction() {
    let Some(database) = Database::new().await else { return };
    let node = database.node().await;
    let event_validation = Some(EventValidation::Known);
    let strict = Application { event_validation, ..application(shop()) };
    node.put_application(strict).await.expect("it is stored");
    let mut host = database.connect().await;
    let mut kept = host.transaction().await.expect("it begins");
    let refused = node.accept_within(&mut kept, shop(), vec![submission("1")]).await;
    let refused = refused.expect_err("there are no event types");
    assert_eq!(refused.as_rejected().map(|it| it.field), Some("event_type"));
    // The transaction can be used on, and the setting decides.
    node.put_application(application(shop())).await.expect("it is stored");
    let accepted = node.accept_within(&mut kept, shop(), vec![submission("1")]).await;
    assert_eq!(accepted.expect("it is accepted").len(), 1);
    kept.commit().await.expect("it is committed");
    node.shutdown(Span::from_secs(5)).await;
}
