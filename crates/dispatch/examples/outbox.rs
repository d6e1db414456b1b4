//! An order and its webhook in one PostgreSQL transaction: both are there after the commit, or none of them.
//!
//! This is what an outbox table with a poller is written for. Here the message and its deliveries are rows of the same
//! commit, and the nodes learn of them by that commit. Without `STAGGER_TEST_POSTGRES` the example only says so.
//!
//! `STAGGER_TEST_POSTGRES=$(scripts/postgres start FOLDER) cargo run -p stagger-dispatch --example outbox`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use http::{HeaderMap, StatusCode};
use stagger::{Instant, Span, StdTime};
use stagger_dispatch::IdGenerator;
use stagger_dispatch::model::{Application, ApplicationId, Endpoint, EndpointId, SecretKind};
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::sender::{SendOptions, Sender, generate_secret};
use stagger_dispatch::store::tokio_postgres::{self, Client, NoTls};
use stagger_dispatch::store::{PostgresOptions, PostgresStore};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Starts a node on the host's database. The node's tables are in a schema of their own.
async fn start_node(url: &str, schema: &str) -> Result<Node, Box<dyn Error>> {
    let separator = if url.contains('?') { '&' } else { '?' };
    let address = format!("{url}{separator}options=-csearch_path%3D{schema}").parse()?;
    let store = PostgresStore::open(&address, PostgresOptions::default()).await?;
    let sender = Sender::new(SendOptions { allow_private: true, ..SendOptions::default() })?;
    Ok(Node::start(Arc::new(store), sender, NodeOptions::default()).await?)
}

/// Takes an order: the row and the message become durable together.
async fn take_order(
    database: &mut Client,
    node: &Node,
    shop: ApplicationId,
    number: i32,
) -> Result<(), Box<dyn Error>> {
    let mut transaction = database.transaction().await?;
    let sql = "INSERT INTO shop_order (number) VALUES ($1)";
    transaction.execute(sql, &[&number]).await?;
    let key = Some(format!("order-{number}").parse()?);
    let payload = format!(r#"{{"order":{number}}}"#);
    let message = Submission { key, ..Submission::json("order.taken".parse()?, payload) };
    node.accept_within(&mut transaction, shop, vec![message]).await?;
    if number == 13 {
        return Err("this order cannot be taken".into()); // the transaction is dropped, and rolls back
    }
    transaction.commit().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Ok(url) = std::env::var("STAGGER_TEST_POSTGRES") else {
        println!("skipped: STAGGER_TEST_POSTGRES names no database");
        return Ok(());
    };
    let schema = format!("outbox_{}", std::process::id());
    let mut database = connect(&url).await?;
    let tables = format!("CREATE SCHEMA {schema}; CREATE TEMPORARY TABLE shop_order (number int)");
    database.batch_execute(&tables).await?;
    let node = start_node(&url, &schema).await?;
    let (shop, mut received) = furnish(&node).await?;

    take_order(&mut database, &node, shop, 13).await.expect_err("it is refused");
    take_order(&mut database, &node, shop, 14).await?;
    let body = received.recv().await.ok_or("the receiver has ended")?;
    assert_eq!(body, r#"{"order":14}"#);
    println!("received {body}");
    let rows = database.query("SELECT number FROM shop_order", &[]).await?;
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>(), [14]);

    node.shutdown(Span::from_secs(30)).await;
    assert!(received.try_recv().is_err(), "nothing of the order that was rolled back");
    database.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await?;
    Ok(())
}

async fn connect(url: &str) -> Result<Client, Box<dyn Error>> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            println!("connection lost: {error}");
        }
    });
    Ok(client)
}

/// Makes an application with one endpoint; returns its receiver's bodies.
async fn furnish(
    node: &Node,
) -> Result<(ApplicationId, mpsc::UnboundedReceiver<String>), Box<dyn Error>> {
    let (told, received) = mpsc::unbounded_channel();
    let take = async move |headers: HeaderMap, body: String| {
        assert!(headers.contains_key("webhook-signature"));
        _ = told.send(body);
        StatusCode::NO_CONTENT
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move {
        // It ends with the example.
        _ = axum::serve(listener, Router::new().route("/", post(take))).await;
    });
    let since_epoch = StdTime::wall().duration_since(std::time::UNIX_EPOCH)?;
    let (ids, now) =
        (IdGenerator::default(), Instant::ORIGIN + Span::from_secs(since_epoch.as_secs()));
    let shop = ApplicationId::from_uuid(ids.make(now)?);
    let slots = NodeOptions::default().slots;
    node.put_application(Application::new(shop, "shop", slots, now)).await?;
    let hook = EndpointId::from_uuid(ids.make(now)?);
    let secrets = vec![generate_secret(SecretKind::Symmetric)?];
    node.put_endpoint(Endpoint { secrets, ..Endpoint::new(hook, shop, url, now) }).await?;
    Ok((shop, received))
}
