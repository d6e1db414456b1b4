//! A database connection that is lost, and comes back.
//!
//! Clients that dial in a loop keep a server down that is still starting, and one that accepts and hangs
//! up resets a naive backoff for ever. [`Reconnect`] spaces the dials, and only a connection that lived
//! for a while resets the delay.
//! A read that was under way is made again. A write may have taken effect before the connection
//! went, so it is not.
//!
//! `STAGGER_TEST_POSTGRES=$(scripts/postgres start FOLDER) cargo run -p stagger --example database --features tokio`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::{error::Error, io};

use stagger::budget::WindowPlan;
use stagger::{
    Backoff, Clock, ConfigError, Instant, Jitter, OsEntropy, Outcome, Policy, Reconnect, Retrier,
    Sleep, Span, Stop, TokioTime, Verdict,
};
use tokio_postgres::{Client, NoTls};

/// The least life of a connection that counts as up. In production 10 to 60 s.
const STABLE: Span = Span::from_millis(500);

/// A connection that is dialled when it is needed, and the calls over it.
struct Connection {
    url: String,
    redial: Policy,
    link: Reconnect,
    /// Not before this: it outlives the call that found the connection gone.
    dial_at: Instant,
    client: Option<Client>,
    retrier: Retrier<TokioTime>,
}

type Failed = stagger::Error<tokio_postgres::Error>;

impl Connection {
    fn new(url: String) -> Result<Self, ConfigError> {
        let delay = Backoff::exponential(Span::from_millis(20), Span::from_secs(5))?;
        let redial = Policy::builder().backoff(delay.with_jitter(Jitter::Equal)?);
        let redial = redial.max_attempts(u32::MAX).build()?; // callers give up, by their own limits
        // Few calls over one connection: each of three lost sessions may take a retry.
        let budget = WindowPlan::default().with_burst(3)?;
        let policy = Policy::interactive().to_builder().budget(budget).build()?;
        let retrier = Retrier::new(policy, TokioTime);
        let (link, dial_at) = (Reconnect::new(STABLE), Instant::ORIGIN);
        Ok(Self { url, redial, link, dial_at, client: None, retrier })
    }

    /// The client of a connection that is up, as far as can be seen.
    async fn client(&mut self) -> Result<&Client, tokio_postgres::Error> {
        if self.client.take_if(|client| client.is_closed()).is_some() {
            self.down();
        }
        while self.client.is_none() {
            TokioTime.sleep(self.dial_at - TokioTime.now()).await;
            match tokio_postgres::connect(&self.url, NoTls).await {
                Ok((client, driver)) => {
                    tokio::spawn(driver);
                    self.link.on_up(TokioTime.now());
                    self.client = Some(client);
                }
                Err(error) if meaning(&error).verdict == Verdict::Permanent => return Err(error),
                Err(_) => self.down(),
            }
        }
        Ok(self.client.as_ref().expect("the loop ends with a client"))
    }

    /// The connection dropped, or a dial failed: decides when to dial next.
    fn down(&mut self) {
        let now = TokioTime.now();
        let delay = self.link.on_down(&self.redial, now, &mut OsEntropy);
        self.dial_at = now + delay.unwrap_or(Span::MAX);
    }

    /// Counts the orders: a read, so it is made again when the connection is lost under it.
    async fn count(&mut self) -> Result<i64, Failed> {
        let retrier = self.retrier.clone();
        let sql = "SELECT count(*) FROM orders";
        let read = retrier.context(self).retry(|mut connection| async move {
            connection.client().await?.query_one(sql, &[]).await
        });
        Ok(read.classify(meaning).await?.get(0))
    }

    /// An order: a write, so it is not made again.
    async fn order(&mut self, sql: &str) -> Result<(), Failed> {
        let retrier = self.retrier.clone();
        let order = retrier.context(self).retry(|mut connection| async move {
            connection.client().await?.batch_execute(sql).await
        });
        order.classify(meaning).not_idempotent().await
    }
}

/// A lost connection and a server that is starting or stopping heal; what the server says no to stays.
fn meaning(error: &tokio_postgres::Error) -> Outcome {
    let lost = error.is_closed() || error.source().is_some_and(|error| error.is::<io::Error>());
    let leaving = error.code().is_some_and(|code| code.code().starts_with("57P")); // its class 57
    Outcome::new(if lost || leaving { Verdict::Transient } else { Verdict::Permanent })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = std::env::var("STAGGER_TEST_POSTGRES").map_err(|_| "no STAGGER_TEST_POSTGRES")?;
    tokio::spawn(shop(url)).await? // in a task, as a server makes its calls
}

async fn shop(url: String) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut orders = Connection::new(url)?;
    let table = "DROP TABLE IF EXISTS orders; CREATE TABLE orders (item text)";
    orders.client().await?.batch_execute(table).await?;

    // The server ends the session. The next read is answered, over a new connection.
    let end = "SELECT pg_terminate_backend(pg_backend_pid())";
    orders.client().await?.batch_execute(end).await.expect_err("the session is ended");
    assert_eq!(orders.count().await?, 0);

    // An order is written, but its answer is lost. To send it again would be to order twice.
    let write = format!("BEGIN; INSERT INTO orders VALUES ('bolt'); COMMIT; {end}");
    let failed = orders.order(&write).await.expect_err("the session is ended");
    assert_eq!((failed.stop(), failed.attempts()), (Stop::NotIdempotent, 1));
    assert_eq!(orders.count().await?, 1);
    assert_eq!(orders.link.retries(), 2, "both died young: it grows");

    // This one lives. When it drops, the delays start over from the shortest.
    TokioTime.sleep(STABLE).await;
    orders.client().await?.batch_execute(end).await.expect_err("the session is ended");
    assert_eq!((orders.count().await?, orders.link.retries()), (1, 1));
    println!("3 sessions ended, 3 counts read, 1 order written");
    Ok(())
}
