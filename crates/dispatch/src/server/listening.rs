//! A listening dispatcher.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::Error;
use crate::api::{self, ApiOptions};
use crate::config::{AdminKey, Config, StoreKind};
use crate::node::{Node, NodeOptions, SharedBudgets};
use crate::observe;
use crate::send::{SendOptions, Sender};
use crate::store::{
    DeliveryStore, MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore,
};
use crate::ui::{self, UiOptions};

/// A node with its HTTP server: it accepts, delivers, and shows its state.
#[derive(Debug)]
pub struct NodeServer {
    listener: TcpListener,
    address: SocketAddr,
    routes: Router,
    node: Node,
    admin: AdminKey,
    config: Config,
}

impl NodeServer {
    /// Opens the store, resumes its open deliveries, and listens.
    ///
    /// # Errors
    /// The store or a file cannot be opened, another process uses the store, or the address is in
    /// use.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let listener =
            TcpListener::bind(config.listen).await.map_err(|e| cannot_listen(&config, &e))?;
        let address = listener.local_addr().map_err(|error| cannot_listen(&config, &error))?;
        let admin = admin_key(&config)?;
        let sender = Sender::new(send_options(&config)?)?;
        let metrics = observe::init_metrics()?;
        let options = NodeOptions { address: Some(address), ..config.node };
        let budgets = budgets(&config).await?;
        let node = Node::start_with(open_store(&config).await?, sender, options, budgets).await?;
        let routes =
            routes(&node, &admin, &config).merge(observe::metrics_route(metrics, node.clone()));
        Ok(Self { listener, address, routes, node, admin, config })
    }

    /// The address on which it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The key that may do everything.
    #[must_use]
    pub const fn admin_key(&self) -> &AdminKey {
        &self.admin
    }

    /// The node behind it.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Serves until `stop` is ready. Then it accepts no more requests, finishes or returns attempts
    /// in flight within the grace time, and ends.
    ///
    /// # Errors
    /// The listener broke.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        let (stopping, mut stopped) = watch::channel(false);
        let told = stopping.clone();
        let stop = async move {
            stop.await;
            told.send_replace(true);
        };
        let node = self.node.clone();
        let serving = async {
            axum::serve(self.listener, self.routes)
                .with_graceful_shutdown(stop)
                .await
                .map_err(|error| Error::store(format!("the listener failed: {error}")))
        };
        let grace = self.config.grace;
        let mut draining = pin!(async {
            // It fails when all senders are gone, and one lives until this has ended.
            _ = stopped.wait_for(|stopped| *stopped).await;
            node.shutdown(grace).await;
        });
        // Draining ends the dispatcher: a client that keeps its connection open must not hold it up, and
        // serving that ends first must not cut it short.
        tokio::select! {
            served = serving => {
                // A listener that failed has not been told to stop.
                stopping.send_replace(true);
                draining.await;
                served
            }
            () = &mut draining => Ok(()),
            why = node.ended() => Err(Error::conflict(why)),
        }
    }
}

fn cannot_listen(config: &Config, error: &io::Error) -> Error {
    Error::invalid("listen", config.listen, format!("an address that can be listened on: {error}"))
}

fn admin_key(config: &Config) -> Result<AdminKey, Error> {
    match (&config.admin_key, &config.store) {
        (Some(key), _) => Ok(key.clone()),
        (None, StoreKind::Embedded | StoreKind::Postgres(_)) => AdminKey::kept_in(&config.data),
        (None, StoreKind::Memory) => AdminKey::made(),
    }
}

async fn budgets(config: &Config) -> Result<Option<SharedBudgets>, Error> {
    let Some(url) = &config.redis else { return Ok(None) };
    let budgets =
        SharedBudgets::connect(url.reveal(), config.redis_budget, config.redis_processes).await?;
    Ok(Some(budgets))
}

async fn open_store(config: &Config) -> Result<Arc<dyn DeliveryStore>, Error> {
    match &config.store {
        StoreKind::Memory => Ok(Arc::new(MemoryStore::default())),
        StoreKind::Embedded => {
            Ok(Arc::new(SqliteStore::open(&config.data, SqliteOptions::default())?))
        }
        StoreKind::Postgres(address) => {
            let (migrate, lease) = (config.migrate, config.node.lease);
            let options = PostgresOptions { migrate, lease, ..PostgresOptions::default() };
            Ok(Arc::new(PostgresStore::open(address, options).await?))
        }
    }
}

fn send_options(config: &Config) -> Result<SendOptions, Error> {
    let roots = match &config.roots {
        Some(file) => std::fs::read(file).map_err(|error| {
            Error::invalid("roots", file.display(), format!("readable: {error}"))
        })?,
        None => Vec::new(),
    };
    Ok(SendOptions { allow_private: config.allow_private, ports: config.ports.clone(), roots })
}

fn routes(node: &Node, admin: &AdminKey, config: &Config) -> Router {
    let api = ApiOptions {
        admin: Some(admin.hash()),
        rate: config.rate,
        max_body: config.max_body,
        max_payload: config.max_payload,
    };
    let ui = UiOptions { admin_key: Some(admin.hash()), secure: false };
    api::router(node.clone(), api).merge(ui::router(node.clone(), ui))
}
