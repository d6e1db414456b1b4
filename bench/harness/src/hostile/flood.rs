//! Attackers: connections that are held, and clients that ask without pause.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::rig::{ADMIN_KEY, Connection, HttpRequest, dial_from};

/// The address of the attacker. The victim connects from another one, as tenants do: connections are shared out
/// between addresses.
const SOURCE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);
/// The pause before a connection that was closed is opened again.
const AGAIN: Duration = Duration::from_millis(500);
/// The pause of a client that was refused.
const REFUSED: Duration = Duration::from_millis(50);

/// Connections that send a beginning, and then a byte a second or nothing.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) addr: SocketAddr,
    pub(super) first: String,
    pub(super) drip: bool,
}

impl Hold {
    /// The beginning of a post whose body is long.
    pub(super) fn post(path: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {ADMIN_KEY}\r\n\
             content-type: application/json\r\ncontent-length: 100000\r\n\r\n"
        )
    }

    pub(super) fn launch(self, tasks: &mut JoinSet<()>, count: usize) {
        for _ in 0..count {
            let this = self.clone();
            tasks.spawn(async move {
                loop {
                    // It ends when the server has had enough.
                    this.keep_open().await.ok();
                    sleep(AGAIN).await;
                }
            });
        }
    }

    async fn keep_open(&self) -> std::io::Result<()> {
        let mut stream = dial_from(SOURCE, self.addr).await?;
        stream.write_all(self.first.as_bytes()).await?;
        let mut bytes = [0; 1024];
        loop {
            match timeout(Duration::from_secs(1), stream.read(&mut bytes)).await {
                Ok(Ok(0) | Err(_)) => return Ok(()),
                Ok(Ok(_)) => {}
                Err(_) if self.drip => stream.write_all(b"x").await?,
                Err(_) => {}
            }
        }
    }
}

/// Clients that send the same request as soon as the last one is answered.
#[derive(Clone, Debug)]
pub(super) struct Flood {
    addr: SocketAddr,
    request: Arc<HttpRequest>,
}

impl Flood {
    /// The key with which the attacker's messages are posted.
    pub(super) const ADMIN: &str = ADMIN_KEY;

    pub(super) fn new(addr: SocketAddr, path: &str, key: &str, body: String) -> Self {
        let method = if body.is_empty() { "GET" } else { "POST" };
        Self { addr, request: Arc::new(HttpRequest::new(method, path, key, &[], &body)) }
    }

    /// The body of a post of one message, and of so many.
    pub(super) fn one() -> String {
        message().to_string()
    }

    pub(super) fn batch(count: usize) -> String {
        json!({ "messages": vec![message(); count] }).to_string()
    }

    pub(super) fn launch(self, tasks: &mut JoinSet<()>, count: usize) {
        for _ in 0..count {
            let this = self.clone();
            tasks.spawn(async move {
                loop {
                    this.ask().await.ok();
                    sleep(REFUSED).await;
                }
            });
        }
    }

    async fn ask(&self) -> std::io::Result<()> {
        let mut connection = Connection::over(dial_from(SOURCE, self.addr).await?)?;
        loop {
            let status = connection.send(&self.request).await?.status;
            if status == 429 || status == 503 {
                sleep(REFUSED).await;
            }
        }
    }
}

fn message() -> Value {
    json!({ "event_type": "attack.0", "payload": { "small": true } })
}
