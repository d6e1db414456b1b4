//! The server for blocking clients, on a thread of its own.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::cert::Identity;
use super::request_log::SeenRequest;
use super::script::Script;
use super::test_server::TestServer;

/// A [`TestServer`] on a thread and a runtime of its own, for blocking clients; dropping it ends and
/// joins the thread.
#[derive(Debug)]
pub struct BlockingServer {
    /// `Some` until the drop.
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    server: std::sync::Arc<TestServer>,
}

impl BlockingServer {
    /// Listens in the clear on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the system has no port or no thread left.
    #[must_use]
    pub fn start(script: Script) -> Self {
        Self::run(script, None)
    }

    /// Listens under TLS on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the system has no port or no thread left.
    #[must_use]
    pub fn start_tls(script: Script, identity: Identity) -> Self {
        Self::run(script, Some(identity))
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Scheme, address, and a path with its leading slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// The requests it has read, in order of arrival.
    #[must_use]
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.server.seen()
    }

    /// Connections accepted since the start.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    fn run(script: Script, identity: Option<Identity>) -> Self {
        let (started, start) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut builder = Builder::new_current_thread();
            let runtime = builder.enable_all().build().expect("a test machine has descriptors");
            runtime.block_on(async {
                let server = match identity {
                    Some(identity) => TestServer::start_tls(script, &identity).await,
                    None => TestServer::start(script).await,
                };
                _ = started.send(std::sync::Arc::new(server));
                // An error too means that the handle is gone.
                _ = stopped.await;
            });
        });
        let server = start.recv().expect("the thread sends once it listens");
        Self { running: Some((stop, thread)), server }
    }
}

impl Drop for BlockingServer {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            _ = stop.send(());
            _ = thread.join();
        }
    }
}
