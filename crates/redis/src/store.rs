//! The store that a whole fleet leases its permits from: a connection to Redis or Valkey.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::{
    ConnectionInfo, ErrorKind, FromRedisValue, IntoConnectionInfo, RedisError, Script,
    ServerErrorKind,
};
use stagger::Instant;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::link::{Link, Lost};
use crate::options::SharedOptions;

/// A Redis (from 5) or Valkey that keeps the budgets and breakers of a fleet; clones share one
/// connection.
///
/// It may be unreachable at any time, also at the start: then its ledgers do as
/// [`StoreFallback`](super::StoreFallback) says, and it is dialled again after delays that grow to 5 s and are jittered.
///
/// ```no_run
/// use stagger::{Policy, Retrier, TokioTime};
/// use stagger_redis::{SharedOptions, SharedStore};
/// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
/// // 40 processes expected: that is what each one's share is, should the store be unreachable.
/// let store = SharedStore::connect("redis://10.0.0.7", SharedOptions::new(40)?).await?;
/// let policy = Policy::interactive();
/// let ledger = store.ledger("payments", &policy)?;
/// let payments = Retrier::new(policy, TokioTime).with_ledger(ledger);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedStore {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    place: String,
    options: SharedOptions,
    link: Mutex<Link>,
    /// Whether it answered when it was asked last.
    up: AtomicBool,
}

impl SharedStore {
    /// The store at `url`, which is dialled once before this returns.
    ///
    /// `redis://user:password@host:port/database`; `rediss://` with TLS (feature `rustls`);
    /// `unix:///path?db=1&user=..&pass=..` for a socket.
    ///
    /// # Errors
    /// A URL that names no store, and a store that answered and refused us: a wrong password, a
    /// command that this user may not use, a certificate that does not match. A store that does not
    /// answer is no error.
    pub async fn connect(url: &str, options: SharedOptions) -> Result<Self, StoreError> {
        let home = read(url)?;
        let place = place(&home);
        let password = home.redis_settings().password().unwrap_or_default().to_owned();
        let link = Mutex::new(Link::new(home, options.again()));
        let store = Self {
            inner: Arc::new(StoreInner { place, options, link, up: AtomicBool::new(false) }),
        };
        match store.inner.link.lock().await.connection().await {
            Ok(_) => store.inner.up.store(true, Ordering::Release),
            Err(Lost::Failed(error)) if is_final(&error) => {
                let reason = redacted(&error.to_string(), &password);
                return Err(StoreError::new(store.place(), reason));
            }
            // It may come back.
            Err(_) => {}
        }
        Ok(store)
    }

    /// Checks that `url` names a store, without dialling it.
    ///
    /// ```
    /// use stagger_redis::SharedStore;
    /// assert!(SharedStore::check("redis://me:secret@10.0.0.7/1").is_ok());
    /// let refused = SharedStore::check("http://me:secret@10.0.0.7").expect_err("no store");
    /// assert!(!refused.to_string().contains("secret"));
    /// ```
    ///
    /// # Errors
    /// A URL that names no store. The URL is not part of the error.
    pub fn check(url: &str) -> Result<(), StoreError> {
        parse(url).map(|_| ())
    }

    /// The store and the user that asks it; without the password.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.inner.place
    }

    /// The options of this process.
    #[must_use]
    pub fn options(&self) -> &SharedOptions {
        &self.inner.options
    }

    /// Runs a script.
    ///
    /// # Errors
    /// When the store is unreachable: the earliest time at which it may be asked again.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[String],
        arguments: &[String],
    ) -> Result<T, Instant> {
        let mut invocation = script.prepare_invoke();
        for key in keys {
            invocation.key(key);
        }
        for argument in arguments {
            invocation.arg(argument);
        }
        let connection = self.inner.link.lock().await.connection().await;
        let (mut connection, generation) = match connection {
            Ok(connection) => connection,
            Err(_) => return Err(self.mark_down().await),
        };
        let answer = invocation.invoke_async(&mut connection);
        let lost = match timeout(self.options().again().to_duration(), answer).await {
            Ok(Ok(numbers)) => {
                self.inner.up.store(true, Ordering::Release);
                return Ok(numbers);
            }
            Ok(Err(error)) => Lost::Failed(error),
            Err(_) => Lost::Late,
        };
        self.inner.link.lock().await.down(generation, &lost);
        Err(self.mark_down().await)
    }

    /// Whether it answered when it was asked last.
    pub(crate) fn is_up(&self) -> bool {
        self.inner.up.load(Ordering::Acquire)
    }

    /// Notes that it is unreachable, and says when it may be asked again.
    async fn mark_down(&self) -> Instant {
        self.inner.up.store(false, Ordering::Release);
        self.inner.link.lock().await.dial_at()
    }
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedStore")
            .field("place", &self.inner.place)
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

/// A store that will never answer as it is set up: a wrong address, a wrong password.
///
/// A store that is unreachable is no error: it may come back. No password is ever part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    place: String,
    reason: String,
}

impl StoreError {
    fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }

    /// The store, and the user that asked it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl StdError for StoreError {}

/// The store at a URL that can be dialled from this process.
fn read(url: &str) -> Result<ConnectionInfo, StoreError> {
    #[cfg(feature = "rustls")]
    if is_secure(url) && rustls::crypto::CryptoProvider::get_default().is_none() {
        let reason = "TLS needs a provider: call CryptoProvider::install_default first";
        return Err(StoreError::new(URL, reason));
    }
    parse(url)
}

/// The name of the URL in errors. The URL is left out of them: a mistake may have put the password anywhere in it.
const URL: &str = "the store's URL";

fn parse(url: &str) -> Result<ConnectionInfo, StoreError> {
    if is_secure(url) && cfg!(not(feature = "rustls")) {
        return Err(StoreError::new(URL, "TLS needs the feature rustls"));
    }
    let bound = "must be redis://user:password@host:port/database, or unix:///path";
    url.into_connection_info().map_err(|_| StoreError::new(URL, bound))
}

fn is_secure(url: &str) -> bool {
    url.starts_with("rediss:") || url.starts_with("valkeys:")
}

fn place(home: &ConnectionInfo) -> String {
    let user = home.redis_settings().username().unwrap_or("default");
    format!("the store at {} as {user}", home.addr())
}

/// Whether it answered, and will answer the same next time.
fn is_final(error: &RedisError) -> bool {
    let is_certificate = || error.to_string().contains("certificate");
    match error.kind() {
        ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig
        | ErrorKind::Server(ServerErrorKind::NoPerm) => true,
        ErrorKind::Io => is_certificate(),
        _ => matches!(error.code(), Some("WRONGPASS" | "NOAUTH")),
    }
}

/// No server repeats a password; should one do it, it is not shown.
fn redacted(text: &str, password: &str) -> String {
    if password.is_empty() { text.to_owned() } else { text.replace(password, "***") }
}

/// Numbers as a script reads them.
pub(crate) fn words(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}
