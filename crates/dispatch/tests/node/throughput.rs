//! The number of deliveries a second: `cargo test --release --test node -- --ignored --nocapture`.
#![expect(clippy::print_stdout, clippy::cast_precision_loss, reason = "figures for people to read")]

use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::{Clock, StdTime};
use stagger_scheduler::model::*;
use stagger_store::{DeliveryStore, MemoryStore, SqliteOptions, SqliteStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::fixture::{endpoint, id, start, submission};

const MESSAGES: usize = 64_000;
const CLIENTS: usize = 64;
const ENDPOINTS: u128 = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement, not a test"]
async fn deliveries_a_second_in_memory() {
    measure("memory", Arc::new(MemoryStore::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement, not a test"]
async fn deliveries_a_second_on_disk() {
    let folder = std::env::temp_dir().join(format!("stagger-throughput-{}", std::process::id()));
    let store = SqliteStore::open(&folder, SqliteOptions::default()).unwrap();
    measure("sqlite", Arc::new(store)).await;
    std::fs::remove_dir_all(folder).unwrap();
}

async fn measure(name: &str, store: Arc<dyn DeliveryStore>) {
    let served = Arc::new(Semaphore::new(0));
    let url = receiver(Arc::clone(&served)).await;
    let node = start(store.clone()).await;
    // Each endpoint has an application of its own, so that a message is one delivery.
    let app = |n: u128| ApplicationId::from_uuid(uuid::Uuid::from_u128(n));
    for n in 1..=ENDPOINTS {
        let slots = NonZeroU32::new(1000).expect("above zero");
        let (name, created_at) = ("shop".to_owned(), stagger::Instant::ORIGIN);
        node.put_application(Application::new(app(n), name, slots, created_at))
            .await
            .expect("it works");
        node.put_endpoint(endpoint(app(n), n, &url)).await.expect("it works");
    }
    assert!(node.endpoint(id(1)).is_some());
    let began = StdTime.now();
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let node = node.clone();
        let application = app(client as u128 % ENDPOINTS + 1);
        clients.spawn(async move {
            for _ in 0..MESSAGES / CLIENTS {
                // 500 bytes each.
                node.accept(application, vec![submission(&"x".repeat(500))])
                    .await
                    .expect("it works");
            }
        });
    }
    clients.join_all().await;
    let accepted = (StdTime.now() - began).as_secs_f64();
    // The semaphore is never closed.
    _ = served.acquire_many(u32::try_from(MESSAGES).expect("it fits")).await;
    let took = (StdTime.now() - began).as_secs_f64();
    let rate = |seconds: f64| MESSAGES as f64 / seconds;
    println!("{name}: accepted {:.0}/s, delivered {:.0}/s", rate(accepted), rate(took));
    node.shutdown(stagger::Span::from_secs(1)).await;
}

/// Answers everything with 200, as fast as it can.
async fn receiver(served: Arc<Semaphore>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it works");
    let url = format!("http://{}/", listener.local_addr().expect("it works"));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket, Arc::clone(&served)));
        }
    });
    url
}

async fn answer(mut socket: TcpStream, served: Arc<Semaphore>) {
    socket.set_nodelay(true).expect("it works");
    let mut bytes = Vec::with_capacity(8192);
    while socket.read_buf(&mut bytes).await.is_ok_and(|n| n > 0) {
        let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        if bytes.len() >= head + 4 + 500 {
            bytes.clear();
            served.add_permits(1);
            socket
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .await
                .expect("it works");
        }
    }
}
