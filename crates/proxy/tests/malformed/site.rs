//! A proxy with short limits before a recording server, and clients that send bytes as they are.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use stagger_proxy::Proxy;
use stagger_proxy::config::ProxySettings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::frames;
use crate::recorder::Recorder;

/// The time after which a proxy that says nothing has nothing to say: longer than it takes to notice a client that
/// stalls.
const QUIET: Duration = Duration::from_secs(10);

/// A proxy and its server.
pub(crate) struct MalformedSite {
    pub(crate) upstream: Recorder,
    address: SocketAddr,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<bool>)>>,
}

impl MalformedSite {
    pub(crate) async fn start() -> Self {
        let upstream = Recorder::start().await;
        let settings = format!(
            "[proxy]\nlisten = '127.0.0.1:0'\nhead_size = '8KiB'\nhead_timeout = '300ms'\nstall_timeout = '300ms'\n\
             drain = '1s'\n[route.api]\nhost = 'api.internal'\nupstream = 'http://{}'\n\
             tunnel_idle_timeout = '300ms'\n[route.out]\nconnect = 'db.internal:443'\n",
            upstream.address
        );
        let settings = ProxySettings::parse("routes.toml", &settings).expect("good settings");
        let proxy = Proxy::bind(settings).await.expect("a free port");
        let address = proxy.handle().addresses()[0];
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(proxy.run(async { _ = stopped.await }));
        Self { upstream, address, running: Mutex::new(Some((stop, running))) }
    }

    /// Sends bytes; answers the status of the first reply, `reset` or `goaway` of HTTP/2 with the error's name, or
    /// `closed`.
    pub(crate) async fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        // The proxy may close while a client still writes, which is an answer.
        _ = stream.write_all(bytes).await;
        let http2 = bytes.starts_with(frames::PREFACE);
        let mut reply = Vec::new();
        let read = async {
            while stream.read_buf(&mut reply).await.is_ok_and(|read| read > 0) {
                if http2 && frames::answer(&reply) != "closed" {
                    break;
                }
            }
        };
        let quiet = tokio::time::timeout(QUIET, read).await.is_err();
        if http2 {
            return frames::answer(&reply);
        }
        let text = String::from_utf8_lossy(&reply);
        match text.split(' ').nth(1) {
            Some("101") if !quiet => "101, then closed".to_owned(),
            Some(status) => status.to_owned(),
            None if quiet => "nothing".to_owned(),
            None => "closed".to_owned(),
        }
    }

    /// A plain request of another client; answers its status.
    pub(crate) async fn other_client(&self) -> String {
        self.send(b"GET /other HTTP/1.1\r\nhost: api.internal\r\nconnection: close\r\n\r\n").await
    }

    /// Ends the proxy with all that it still does.
    pub(crate) async fn stop(&self) {
        let running = self.running.lock().expect("no panic").take();
        if let Some((stop, running)) = running {
            _ = stop.send(());
            running.await.expect("no panic");
        }
    }
}
