//! Connections to one address, bounded in number, each used again while the server keeps it open.

use std::collections::VecDeque;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, io};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Bytes of headers in an answer: far more than servers send, and few enough for thousands of connections.
const MOST_HEADER_BYTES: usize = 32 * 1_024;
/// Header lines in an answer.
const MOST_HEADERS: usize = 100;
/// Bytes of a body that are read. A longer answer counts as complete, and its connection is closed.
const MOST_BODY_BYTES: usize = 1024 * 1_024;

/// The connections of one run.
#[derive(Debug)]
pub(crate) struct BoundedConnections {
    address: SocketAddr,
    free: Arc<Semaphore>,
    idle: Mutex<VecDeque<PooledConnection>>,
}

/// A failed exchange.
#[derive(Debug)]
pub(crate) enum ExchangeError {
    /// As many connections are in use as there may be.
    Full,
    /// The connection was not made.
    Connect(io::Error),
    /// The exchange was cut, or its answer is no HTTP.
    Http(hyper::Error),
}

/// One connection. It is closed when this is dropped, even in the middle of an answer.
#[derive(Debug)]
struct PooledConnection {
    sender: SendRequest<Empty<Bytes>>,
    driver: AbortHandle,
    _permit: OwnedSemaphorePermit,
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl BoundedConnections {
    /// At most `most` connections to this address.
    pub(crate) fn new(address: SocketAddr, most: usize) -> Self {
        let free = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self { address, free, idle: Mutex::new(VecDeque::new()) }
    }

    /// Sends a request and reads the whole answer, of which the head is returned.
    ///
    /// # Errors
    /// Every connection in use, or an exchange that fails.
    pub(crate) async fn exchange(
        &self,
        request: Request<Empty<Bytes>>,
    ) -> Result<Response<()>, ExchangeError> {
        let mut connection = match self.ready() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let answer = connection.sender.send_request(request).await.map_err(ExchangeError::Http)?;
        let (head, body) = answer.into_parts();
        if drained(body).await.map_err(ExchangeError::Http)? {
            self.keep(connection);
        }
        Ok(Response::from_parts(head, ()))
    }

    /// The connection that has been idle for longest, if it can take a request.
    fn ready(&self) -> Option<PooledConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // One whose last answer is being finished goes to the end: each is looked at once.
        for _ in 0..idle.len() {
            let connection = idle.pop_front()?;
            if connection.sender.is_ready() {
                return Some(connection);
            }
            if !connection.sender.is_closed() {
                idle.push_back(connection);
            }
        }
        None
    }

    async fn connect(&self) -> Result<PooledConnection, ExchangeError> {
        let permit = self.permit().ok_or(ExchangeError::Full)?;
        let stream = TcpStream::connect(self.address).await.map_err(ExchangeError::Connect)?;
        stream.set_nodelay(true).map_err(ExchangeError::Connect)?;
        // An attempt that is given up resets its connection. Otherwise the port of each would stay in use for a
        // minute, and a storm of timeouts would run out of them.
        stream.set_zero_linger().map_err(ExchangeError::Connect)?;
        let mut builder = http1::Builder::new();
        builder.max_headers(MOST_HEADERS).max_buf_size(MOST_HEADER_BYTES);
        let (sender, driver) =
            builder.handshake(TokioIo::new(stream)).await.map_err(ExchangeError::Http)?;
        let driver = tokio::spawn(driver).abort_handle();
        Ok(PooledConnection { sender, driver, _permit: permit })
    }

    /// A permit for one more connection, for which an idle one is closed if need be.
    fn permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Some(permit);
        }
        drop(self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?);
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    fn keep(&self, connection: PooledConnection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push_back(connection);
    }
}

/// Reads a body to its end; false when it is longer than what is read.
async fn drained(mut body: Incoming) -> Result<bool, hyper::Error> {
    let mut left = MOST_BODY_BYTES;
    while let Some(frame) = body.frame().await {
        let Some(bytes) = frame?.data_ref().map(Bytes::len) else { continue };
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => return Ok(false),
        }
    }
    Ok(true)
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "every connection is in use",
            Self::Connect(_) => "no connection",
            Self::Http(_) => "the exchange failed",
        })
    }
}

impl Error for ExchangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Full => None,
            Self::Connect(error) => Some(error),
            Self::Http(error) => Some(error),
        }
    }
}
