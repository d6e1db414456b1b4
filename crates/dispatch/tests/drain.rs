//! A whole dispatcher behind a socket, as `stagger serve` runs it, shuts down. One test in a
//! process, because a process has one set of metrics.

use std::net::SocketAddr;

use stagger_dispatch::config::{Config, StoreKind};
use stagger_dispatch::server::NodeServer;
use stagger_scheduler::model::{ApplicationId, DeliveryState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::shared::{application, endpoint, id, submission};

#[path = "shared/mod.rs"]
mod shared;

/// Returns once nothing listens at `address`.
async fn until_refused(address: SocketAddr) {
    while TcpStream::connect(address).await.is_ok() {}
}

/// Serving ends as soon as no client is connected; the drain was dropped with it in most runs, so that an
/// attempt was cut off and sent again by the next run.
#[tokio::test]
async fn a_signal_cut_off_the_attempt_under_way_instead_of_waiting_for_it() {
    let receiver = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", receiver.local_addr().expect("it is bound"));
    let config = Config {
        listen: "127.0.0.1:0".parse().expect("an address"),
        store: StoreKind::Memory,
        allow_private: true,
        ..Config::default()
    };
    let server = NodeServer::start(config).await.expect("it starts");
    let (address, node) = (server.address(), server.node().clone());
    let app = ApplicationId::from_uuid(Uuid::from_u128(1));
    node.put_application(application(app)).await.expect("it is stored");
    node.put_endpoint(endpoint(app, 1, &url, 6)).await.expect("it is stored");
    let sent = node.accept(app, vec![submission("1")]).await.expect("there is room")[0].id;
    let (mut attempt, _) = receiver.accept().await.expect("an attempt");
    let mut first = [0; 1];
    attempt.read_exact(&mut first).await.expect("it sends a request");

    let (stop, stopped) = oneshot::channel::<()>();
    let run = tokio::spawn(server.run(async move { _ = stopped.await }));
    stop.send(()).expect("it waits for that");
    until_refused(address).await;
    // Gives every other task a chance to end early.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!run.is_finished(), "the attempt is still under way");
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    attempt.write_all(reply).await.expect("the attempt is still there");
    run.await.expect("no panic").expect("it ends well");
    let delivery = node.store().delivery(sent, id(1)).await.expect("it reads");
    let delivery = delivery.expect("it was accepted");
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Delivered, 1));
}
