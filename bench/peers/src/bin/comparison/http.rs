//! reqwest: a client that obeys Retry-After.

use std::error::Error;

use reessaie::{RetryAfterMiddleware, RetryAfterPolicy};
use reqwest::Client;
use reqwest_middleware::ClientBuilder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const DONE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ndone";

pub(crate) async fn retry_after() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(answer(listener));
    let policy = RetryAfterPolicy::with_max_retries(2);
    let middleware = RetryAfterMiddleware::new_with_policy(policy);
    let client = ClientBuilder::new(Client::new()).with(middleware).build();
    Ok(client.get(url).send().await?.text().await?)
}

/// Busy at first.
async fn answer(listener: TcpListener) -> std::io::Result<()> {
    for reply in [BUSY, DONE] {
        let (mut socket, _) = listener.accept().await?;
        let _ = socket.read(&mut [0; 1_024]).await?;
        socket.write_all(reply.as_bytes()).await?;
    }
    Ok(())
}
