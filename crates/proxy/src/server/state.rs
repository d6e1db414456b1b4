//! The state that all connections of a proxy share.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use stagger::{Clock, TokioTime};

use crate::config::{ProxySettings, SettingsFault};
use crate::destination::LedgerRegistry;
use crate::edge::{ConnectionPlaces, EdgePhase, EdgeSettings, Listener, ThreadPool};
use crate::forward::{Caller, RouteTable, forward};
use crate::ops;
use crate::stats::{Refusal, RefusalLog, Snapshot};

use super::error::ProxyError;

/// The routes, the listeners and the figures of a proxy.
#[derive(Debug)]
pub(super) struct ProxyState {
    table: RwLock<Arc<RouteTable>>,
    ledgers: LedgerRegistry,
    places: ConnectionPlaces,
    edge: EdgeSettings,
    /// The threads that serve the connections of routes.
    threads: ThreadPool,
    /// The listeners of routes by their configured addresses.
    listeners: Mutex<BTreeMap<SocketAddr, Listener>>,
    admin: Mutex<Option<Listener>>,
    draining: AtomicBool,
    unrouted: AtomicU64,
    unrouted_refusals: RefusalLog,
    reloads: AtomicU64,
    reloads_refused: AtomicU64,
    reload_fault: Mutex<Option<String>>,
}

impl ProxyState {
    pub(super) fn new(
        settings: &ProxySettings,
        ledgers: LedgerRegistry,
        threads: ThreadPool,
    ) -> Result<Self, SettingsFault> {
        Ok(Self {
            table: RwLock::new(Arc::new(RouteTable::new(settings, None, &ledgers)?)),
            ledgers,
            places: ConnectionPlaces::new(settings.limits.max_connections),
            edge: EdgeSettings::new(&settings.limits),
            threads,
            listeners: Mutex::default(),
            admin: Mutex::default(),
            draining: AtomicBool::new(false),
            unrouted: AtomicU64::new(0),
            unrouted_refusals: RefusalLog::default(),
            reloads: AtomicU64::new(0),
            reloads_refused: AtomicU64::new(0),
            reload_fault: Mutex::default(),
        })
    }

    /// The routes of now. A request keeps those that it began with.
    fn table(&self) -> Arc<RouteTable> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Listens on all addresses of the settings; the connections of others end with their requests.
    pub(super) async fn listen(
        self: &Arc<Self>,
        settings: &ProxySettings,
    ) -> Result<(), ProxyError> {
        let wanted = settings.listeners();
        let known: Vec<SocketAddr> = lock(&self.listeners).keys().copied().collect();
        let mut bound = Vec::new();
        for address in wanted.iter().filter(|address| !known.contains(address)) {
            let listener = Listener::bind(*address).await;
            bound.push((*address, listener.map_err(|error| ProxyError::Listen(*address, error))?));
        }
        let mut listeners = lock(&self.listeners);
        for (address, listener) in bound {
            let state = Arc::clone(self);
            let answer = move |from, request, exchange| {
                let state = Arc::clone(&state);
                async move {
                    let unrouted = |refusal| {
                        state.unrouted.fetch_add(1, Ordering::Relaxed);
                        state.unrouted_refusals.add(refusal);
                    };
                    let caller = Caller { from, listen: address };
                    forward(&state.table(), caller, (request, exchange), unrouted).await
                }
            };
            let edge = (self.places.clone(), self.edge.clone(), self.threads.clone());
            let started = Listener::start(listener, edge, answer);
            let started = started.map_err(|error| ProxyError::Listen(address, error))?;
            listeners.insert(address, started);
        }
        listeners.retain(|address, listener| {
            let stays = wanted.contains(address);
            if !stays {
                listener.end(EdgePhase::Draining);
            }
            stays
        });
        Ok(())
    }

    /// Listens for operators. Their connections have places of their own, and are served beside the threads of calls, so
    /// that no flood of calls keeps them out.
    pub(super) async fn listen_admin(
        self: &Arc<Self>,
        address: SocketAddr,
    ) -> Result<(), ProxyError> {
        const CONNECTIONS: usize = 64;
        let fault = |error| ProxyError::Listen(address, error);
        let listener = Listener::bind(address).await.map_err(fault)?;
        let state = Arc::clone(self);
        let answer = move |_, request, _| {
            let figures = (|| state.snapshot(), || state.refusals());
            let reply = ops::answer(&request, state.is_draining(), figures);
            std::future::ready(Ok(reply))
        };
        let edge = (ConnectionPlaces::new(CONNECTIONS), self.edge.clone(), ThreadPool::default());
        let listener = Listener::start(listener, edge, answer).map_err(fault)?;
        *lock(&self.admin) = Some(listener);
        Ok(())
    }

    /// Takes the routes of new settings. Calls under way end under the routes that they began with.
    pub(super) async fn reload(
        self: &Arc<Self>,
        settings: &ProxySettings,
    ) -> Result<(), ProxyError> {
        let result = self.try_reload(settings).await;
        match &result {
            Ok(()) => {
                self.reloads.fetch_add(1, Ordering::Relaxed);
                *lock(&self.reload_fault) = None;
            }
            Err(error) => self.reload_refused(error.to_string()),
        }
        result
    }

    async fn try_reload(self: &Arc<Self>, settings: &ProxySettings) -> Result<(), ProxyError> {
        let table = Arc::new(RouteTable::new(settings, Some(&self.table()), &self.ledgers)?);
        self.listen(settings).await?;
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
        self.ledgers.forget_unused();
        Ok(())
    }

    /// New settings were refused, and the old ones stay.
    pub(super) fn reload_refused(&self, why: String) {
        self.reloads_refused.fetch_add(1, Ordering::Relaxed);
        *lock(&self.reload_fault) = Some(why);
    }

    /// Whether it accepts no connections any more.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Tells all listeners and connections of routes.
    pub(super) fn end(&self, phase: EdgePhase) {
        self.draining.store(true, Ordering::Relaxed);
        lock(&self.listeners).values().for_each(|listener| listener.end(phase));
        if phase == EdgePhase::Closed
            && let Some(admin) = &*lock(&self.admin)
        {
            admin.end(phase);
        }
    }

    /// Ready when the last connection of a route has ended.
    pub(super) async fn until_empty(&self) {
        self.places.until_empty().await;
    }

    /// The addresses that it listens on, by the configured ones; and that of operators.
    pub(super) fn addresses(&self) -> (BTreeMap<SocketAddr, SocketAddr>, Option<SocketAddr>) {
        let listeners = lock(&self.listeners);
        let routes = listeners.iter().map(|(wanted, listener)| (*wanted, listener.local()));
        (routes.collect(), lock(&self.admin).as_ref().map(Listener::local))
    }

    /// The last refusals, the newest first.
    pub(super) fn refusals(&self) -> Vec<Refusal> {
        let mut refusals = self.unrouted_refusals.last(None);
        refusals.extend(self.table().routes().iter().flat_map(|route| route.refusals()));
        refusals.sort_by_key(|refusal| Reverse(refusal.at));
        refusals
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let (connections, max_connections, connections_refused) = self.places.figures();
        Snapshot {
            at: TokioTime.now(),
            draining: self.is_draining(),
            connections,
            max_connections,
            connections_refused,
            unrouted: self.unrouted.load(Ordering::Relaxed),
            reloads: self.reloads.load(Ordering::Relaxed),
            reloads_refused: self.reloads_refused.load(Ordering::Relaxed),
            reload_fault: lock(&self.reload_fault).clone(),
            routes: self.table().routes().iter().map(|route| route.snapshot()).collect(),
        }
    }
}

/// Plain data, which is whole between two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
