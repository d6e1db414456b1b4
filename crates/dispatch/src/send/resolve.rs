//! Names to addresses.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Concurrent lookups: the system's resolver takes a thread for each and cannot be stopped, so a
/// name server that hangs must not take all threads.
const MAX_LOOKUPS: usize = 128;

/// Resolves names; asked once for each connection.
#[async_trait]
pub trait Resolve: Send + Sync + fmt::Debug + 'static {
    /// All addresses of `name`, the preferred one first.
    ///
    /// # Errors
    /// The name has no address, or no server answers.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system: its hosts file, its name servers.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let lookup = tokio::task::spawn_blocking(move || {
            // Held by the thread: the lookup continues when its attempt has ended.
            let _permit = permit;
            Ok((name.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
        });
        lookup.await.map_err(io::Error::other)?
    }
}
