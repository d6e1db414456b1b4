//! A handle on a proxy: its figures, its addresses, and new settings for it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::error::ProxyError;
use super::state::ProxyState;
use crate::config::ProxySettings;
use crate::ops;
use crate::stats::{Refusal, Snapshot};

/// A handle on a proxy that runs, for metrics, pages and signals. Clones are of the same proxy.
#[derive(Clone, Debug)]
pub struct ProxyHandle {
    state: Arc<ProxyState>,
}

impl ProxyHandle {
    pub(super) const fn new(state: Arc<ProxyState>) -> Self {
        Self { state }
    }

    /// Its state now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.state.snapshot()
    }

    /// Its metrics now, in the text format of Prometheus, as `/metrics` shows them.
    #[must_use]
    pub fn metrics(&self) -> String {
        ops::metrics(&self.snapshot())
    }

    /// The last refusals of its routes, and of requests that no route took, the newest first.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        self.state.refusals()
    }

    /// Whether it ends: it accepts no connections, and serves those calls that are under way.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.state.is_draining()
    }

    /// The address that stands for a configured one: the same, but for the port where that is 0.
    #[must_use]
    pub fn address(&self, configured: SocketAddr) -> Option<SocketAddr> {
        self.state.addresses().0.get(&configured).copied()
    }

    /// All addresses that it listens on for routes.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.state.addresses().0.into_values().collect()
    }

    /// The address of the metrics, the page and the health checks, if there is one.
    #[must_use]
    pub fn admin(&self) -> Option<SocketAddr> {
        self.state.addresses().1
    }

    /// Takes new routes in place of the old ones, without dropping a call. A route of the same name keeps its calls in
    /// flight and its refusals; a destination of the same policy keeps its budget, its breaker, its limits and its
    /// figures. Limits of clients, `admin` and the fleet stay as they
    /// were when the proxy started.
    ///
    /// # Errors
    /// Settings that cannot be used; the old ones stay.
    pub async fn reload(&self, settings: &ProxySettings) -> Result<(), ProxyError> {
        self.state.reload(settings).await
    }

    /// Reads a file of settings again, and takes them. The log has the end of it.
    ///
    /// # Errors
    /// As of [`reload`](Self::reload), and a file that cannot be read or is refused; the old settings stay.
    pub async fn reload_file(&self, file: &Path) -> Result<(), ProxyError> {
        let read = ProxySettings::read(file);
        let reloaded = match &read {
            Ok(settings) => self.reload(settings).await,
            Err(fault) => {
                self.state.reload_refused(fault.to_string());
                Err(fault.clone().into())
            }
        };
        match &reloaded {
            Ok(()) => tracing::info!(file = %file.display(), "settings reloaded"),
            Err(error) => tracing::error!(%error, "settings refused, the old ones stay"),
        }
        reloaded
    }
}
