//! The connection to the store: dialled when it is needed, and after a failure not before its delay.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, RedisError};
use stagger::{Backoff, Clock, Instant, Jitter, OsEntropy, Policy, Reconnect, Span, TokioTime};
use tokio::time::timeout;

/// The first delay before a store is dialled again, and the longest: that one is how late a process
/// may notice that the store is back. A thousand processes then make 270 dials a second.
const BASE: Span = Span::from_millis(50);
const CAP: Span = Span::from_secs(5);
/// A connection that lived this long makes the delays start over.
const STABLE: Span = Span::from_secs(10);

/// One connection for all budgets of a process.
pub(crate) struct Link {
    home: ConnectionInfo,
    /// The node to which a cluster redirected us.
    moved: Option<ConnectionInfo>,
    connection: Option<MultiplexedConnection>,
    /// Counts the connections, so that the failure of an old one does not end a new one.
    generation: u64,
    policy: Policy,
    redial: Reconnect,
    dial_at: Instant,
    patience: Span,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It is not dialled yet: a delay is running.
    Paused,
    /// Nothing came in time.
    Late,
    Failed(RedisError),
}

impl Link {
    pub(crate) fn new(home: ConnectionInfo, patience: Span) -> Self {
        Self {
            home,
            moved: None,
            connection: None,
            generation: 0,
            policy: redial_policy(),
            redial: Reconnect::new(STABLE),
            dial_at: Instant::ORIGIN,
            patience,
        }
    }

    /// The earliest time of the next dial.
    pub(crate) const fn dial_at(&self) -> Instant {
        self.dial_at
    }

    /// The connection and its number; dials when there is none.
    pub(crate) async fn connection(&mut self) -> Result<(MultiplexedConnection, u64), Lost> {
        if let Some(connection) = &self.connection {
            return Ok((connection.clone(), self.generation));
        }
        if TokioTime.now() < self.dial_at {
            return Err(Lost::Paused);
        }
        match self.dial().await {
            Ok(connection) => {
                self.redial.on_up(TokioTime.now());
                self.generation += 1;
                self.connection = Some(connection.clone());
                Ok((connection, self.generation))
            }
            Err(lost) => {
                self.moved = None;
                self.pause();
                Err(lost)
            }
        }
    }

    /// The connection of this number failed its caller.
    pub(crate) fn down(&mut self, generation: u64, lost: &Lost) {
        if self.generation != generation || self.connection.take().is_none() {
            return;
        }
        self.moved = match lost {
            Lost::Failed(error) => self.moved_by(error),
            _ => None,
        };
        self.pause();
    }

    async fn dial(&self) -> Result<MultiplexedConnection, Lost> {
        let client = Client::open(self.moved.clone().unwrap_or_else(|| self.home.clone()));
        let client = client.map_err(Lost::Failed)?;
        let limit = Some(self.patience.to_duration());
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(limit).set_response_timeout(limit);
        let dial = async {
            let mut connection =
                client.get_multiplexed_async_connection_with_config(&config).await?;
            // A server that wants a password says so only when it is asked for something.
            redis::cmd("PING").exec_async(&mut connection).await?;
            Ok(connection)
        };
        let dialled = timeout(self.patience.to_duration(), dial).await;
        dialled.map_err(|_| Lost::Late)?.map_err(Lost::Failed)
    }

    fn pause(&mut self) {
        let now = TokioTime.now();
        let delay = self.redial.on_down(&self.policy, now, &mut OsEntropy);
        self.dial_at = now + delay.unwrap_or(CAP);
    }

    /// The node of a cluster that has our keys, if the error names one.
    fn moved_by(&self, error: &RedisError) -> Option<ConnectionInfo> {
        let (host, port) = error.redirect_node()?.0.rsplit_once(':')?;
        let (host, port) = (host.to_owned(), port.parse().ok()?);
        let addr = match self.home.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host, port),
        };
        Some(self.home.clone().set_addr(addr))
    }
}

fn redial_policy() -> Policy {
    let delay = Backoff::exponential(BASE, CAP).and_then(|delay| delay.with_jitter(Jitter::Equal));
    let delay = delay.expect("the base is below the cap, and equal jitter has no parameter");
    let policy = Policy::builder().backoff(delay).max_attempts(u32::MAX).build();
    policy.expect("there are attempts, and a delay that is not zero")
}
