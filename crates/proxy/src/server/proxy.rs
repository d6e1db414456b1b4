//! The life of a proxy: bound, run until it is told to stop, drained.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use stagger::Span;

use super::error::ProxyError;
use super::handle::ProxyHandle;
use super::state::ProxyState;
use crate::config::{ProxySettings, SettingsFault};
use crate::destination::{LedgerRegistry, MakeLedger, ledgers_of};
use crate::edge::{EdgePhase, ServingThreads, ThreadPool};

/// An egress proxy that serves the routes of its settings. Dropping it closes its listeners and all connections.
///
/// ```
/// use stagger_proxy::Proxy;
/// use stagger_proxy::config::ProxySettings;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let settings = ProxySettings::parse("routes.toml", r#"
///     [route.orders]
///     listen = "127.0.0.1:0"
///     upstream = "http://orders.internal:8080"
/// "#)?;
/// let proxy = Proxy::bind(settings).await?;
/// assert_eq!(proxy.handle().addresses().len(), 1);
/// proxy.run(std::future::ready(())).await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Proxy {
    state: Arc<ProxyState>,
    drain: Span,
    _threads: Option<ServingThreads>,
}

impl Proxy {
    /// Reads all files that the settings name, and makes everything but listeners. The store of a fleet is not asked.
    ///
    /// # Errors
    /// Files that cannot be read, and TLS settings that cannot be used.
    pub fn check(settings: &ProxySettings) -> Result<(), SettingsFault> {
        settings.fleet.store()?;
        ProxyState::new(settings, LedgerRegistry::local(), ThreadPool::default()).map(|_| ())
    }

    /// Listens on all addresses of the settings, and serves from now on, in tasks of the tokio runtime that this is
    /// called from. Budgets are those of the fleet that the settings name, or else its own.
    ///
    /// # Errors
    /// As of [`check`](Self::check), addresses that cannot be listened on, and a store that refuses its user. A store
    /// that does not answer is no error.
    pub async fn bind(settings: ProxySettings) -> Result<Self, ProxyError> {
        let registry = registry_of(&settings).await?;
        Self::with_registry(settings, registry, None).await
    }

    /// The same on [`threads`](ProxySettings::threads) of its own, which end with it. Each serves its share of the
    /// connections, with connections of its own to upstreams, so that a request never waits for another thread. On two
    /// processors a call takes half of the time and of the work that it takes on a runtime whose threads share all tasks.
    /// Only listeners, operators and what a fleet shares stay in the runtime that this is called from.
    ///
    /// # Errors
    /// As of [`bind`](Self::bind), and threads that the system does not give.
    pub async fn bind_on_threads(settings: ProxySettings) -> Result<Self, ProxyError> {
        let registry = registry_of(&settings).await?;
        let threads = ServingThreads::start(settings.threads).map_err(ProxyError::Threads)?;
        Self::with_registry(settings, registry, Some(threads)).await
    }

    /// The same, whatever fleet the settings name, with ledgers that `make` makes for each destination and each policy that it is called under: those of
    /// a fleet, or those that the program's own calls have too.
    ///
    /// # Errors
    /// As of [`bind`](Self::bind), and those of `make`.
    pub async fn bind_with_ledgers(
        settings: ProxySettings,
        make: Box<MakeLedger>,
    ) -> Result<Self, ProxyError> {
        Self::with_registry(settings, LedgerRegistry::new(make), None).await
    }

    async fn with_registry(
        settings: ProxySettings,
        ledgers: LedgerRegistry,
        threads: Option<ServingThreads>,
    ) -> Result<Self, ProxyError> {
        let pool = threads.as_ref().map(ServingThreads::pool).unwrap_or_default();
        let state = Arc::new(ProxyState::new(&settings, ledgers, pool)?);
        state.listen(&settings).await?;
        if let Some(address) = settings.admin {
            state.listen_admin(address).await?;
        }
        Ok(Self { state, drain: settings.limits.drain, _threads: threads })
    }

    /// A handle on it, for figures and new settings.
    #[must_use]
    pub fn handle(&self) -> ProxyHandle {
        ProxyHandle::new(Arc::clone(&self.state))
    }

    /// Runs until `stop` is ready. Then it accepts no connections, serves the calls under way for at most
    /// [`ProxyLimits::drain`](crate::config::ProxyLimits::drain), and closes what is left. True if nothing was.
    pub async fn run(self, stop: impl Future<Output = ()>) -> bool {
        stop.await;
        self.state.end(EdgePhase::Draining);
        tracing::info!(drain = %self.drain, "draining");
        let drained = tokio::time::timeout(Duration::from(self.drain), self.state.until_empty());
        let drained = drained.await.is_ok();
        if !drained {
            tracing::warn!("calls under way were closed at the end of the drain time");
        }
        drained
    }
}

/// The ledgers of the fleet that the settings name, or those of this proxy alone.
async fn registry_of(settings: &ProxySettings) -> Result<LedgerRegistry, ProxyError> {
    let ledgers = ledgers_of(&settings.fleet).await?;
    Ok(ledgers.map_or_else(LedgerRegistry::local, LedgerRegistry::new))
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.end(EdgePhase::Closed);
    }
}
