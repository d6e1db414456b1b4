//! A dispatcher that serves: settings in, a listening node with its API, page and metrics out.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response;
use axum::response::Response;
use http::header::{HeaderValue, STRICT_TRANSPORT_SECURITY};
use stagger::{Sleep, Span, TokioTime};
use stagger_brokers::Brokers;
use stagger_sender::{EgressProxy, SendOptions, Sender};
use stagger_store::{
    DeliveryStore, MemoryStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore,
};
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use crate::access::OperatorFile;
use crate::api::ApiOptions;
use crate::config::{AdminKey, Config, StoreKind};
use crate::edge::{Descriptors, HttpEdge};
use crate::node::{Node, NodeOptions, SharedBudgets};
#[cfg(feature = "otel")]
use crate::observe::MetricsExport;
#[cfg(feature = "oidc")]
use crate::oidc::Oidc;
use crate::sources::RunningSources;
use crate::ui::UiOptions;
use crate::{Error, api, observe, ui};

/// The longest time for which a shutdown waits for messages that sources have received: a commit, and an answer of the broker.
const SOURCE_GRACE: Span = Span::from_secs(10);

/// A node with its HTTP server: it accepts, delivers, and shows its state.
#[derive(Debug)]
pub struct NodeServer {
    edge: HttpEdge,
    address: SocketAddr,
    node: Node,
    sources: RunningSources,
    admin: AdminKey,
    config: Config,
    /// Metrics are exported until this is dropped.
    #[cfg(feature = "otel")]
    _export: Option<MetricsExport>,
}

impl NodeServer {
    /// Opens the store, resumes its open deliveries, and listens.
    ///
    /// # Errors
    /// The store or a file cannot be opened, another process uses the store, the address is in use, or the
    /// process may open too few descriptors for the attempts in flight.
    pub async fn start(config: Config) -> Result<Self, Error> {
        let connections =
            Descriptors::raise().for_clients(config.node.slots, config.connections)?;
        let listener =
            TcpListener::bind(config.listen).await.map_err(|e| cannot_listen(&config, &e))?;
        let address = listener.local_addr().map_err(|error| cannot_listen(&config, &error))?;
        let (admin, operators) = (admin_key(&config)?, operators(&config)?);
        let sender = Sender::new(send_options(&config)?)?.with_destinations(Arc::new(Brokers));
        let metrics = observe::init_metrics()?;
        let options = NodeOptions { address: Some(address), ..config.node };
        let budgets = budgets(&config).await?;
        let node = Node::start_with(open_store(&config).await?, sender, options, budgets).await?;
        #[cfg(feature = "otel")]
        let export = export(&config, &metrics, &node)?;
        let routes = routes(&node, (&admin, operators), &config, address)?
            .merge(observe::metrics_route(metrics, node.clone()));
        let edge = HttpEdge::new(listener, routes, connections);
        let sources = RunningSources::start(&node, &config.sources, config.max_payload)?;
        Ok(Self {
            edge,
            address,
            node,
            sources,
            admin,
            config,
            #[cfg(feature = "otel")]
            _export: export,
        })
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
    /// Another node has taken the store over.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        let (stopping, mut stopped) = watch::channel(false);
        let stop = async move {
            stop.await;
            stopping.send_replace(true);
        };
        let (node, sources) = (self.node.clone(), self.sources);
        let grace = self.config.grace;
        let mut draining = pin!(async {
            // It fails when the sender is gone, and that is after it has been told.
            _ = stopped.wait_for(|stopped| *stopped).await;
            // A source that does not end in time is cut off: what it has not settled comes again.
            tokio::select! {
                () = sources.stop() => {}
                () = TokioTime.sleep(grace.min(SOURCE_GRACE)) => {}
            }
            node.shutdown(grace).await;
        });
        // Draining ends the dispatcher: a client that keeps its connection open must not hold it up, and
        // serving that ends first must not cut it short.
        tokio::select! {
            () = self.edge.serve(stop) => {
                draining.await;
                Ok(())
            }
            () = &mut draining => Ok(()),
            why = node.ended() => Err(Error::conflict(why)),
        }
    }
}

/// Sends the metrics of a node to the collector, if there is one.
#[cfg(feature = "otel")]
fn export(
    config: &Config,
    metrics: &observe::Metrics,
    node: &Node,
) -> Result<Option<MetricsExport>, Error> {
    let Some(url) = &config.otlp else { return Ok(None) };
    let (metrics, node) = (metrics.clone(), node.clone());
    let text = move || {
        let (metrics, node) = (metrics.clone(), node.clone());
        async move { metrics.render(&node).await }
    };
    observe::export_metrics(text, observe::METRIC_NAMES, url).map(Some)
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

/// The name of the file of operators within the data folder.
pub const OPERATORS: &str = "operators.toml";

fn operators(config: &Config) -> Result<OperatorFile, Error> {
    match (&config.operators_file, &config.store) {
        (Some(file), _) => OperatorFile::open(file),
        (None, StoreKind::Memory) => Ok(OperatorFile::default()),
        (None, StoreKind::Embedded | StoreKind::Postgres(_)) => {
            OperatorFile::open(&config.data.join(OPERATORS))
        }
    }
}

async fn budgets(config: &Config) -> Result<Option<SharedBudgets>, Error> {
    let Some(url) = &config.redis else { return Ok(None) };
    let budgets =
        SharedBudgets::connect(url.reveal(), config.redis_budget, config.redis_processes).await?;
    Ok(Some(budgets))
}

async fn open_store(config: &Config) -> Result<Arc<dyn DeliveryStore>, Error> {
    let keys = config.encryption.load().await?;
    match &config.store {
        StoreKind::Memory => Ok(Arc::new(MemoryStore::default())),
        StoreKind::Embedded => {
            let options = SqliteOptions::default();
            Ok(Arc::new(SqliteStore::open_with_keys(&config.data, options, keys)?))
        }
        StoreKind::Postgres(address) => {
            let (migrate, lease) = (config.migrate, config.node.lease);
            let options = PostgresOptions { migrate, lease, ..PostgresOptions::default() };
            Ok(Arc::new(PostgresStore::open_with_keys(address, options, keys).await?))
        }
    }
}

/// The certificates to trust besides the usual ones.
fn roots(config: &Config) -> Result<Vec<u8>, Error> {
    let Some(file) = &config.roots else { return Ok(Vec::new()) };
    let read = std::fs::read(file);
    read.map_err(|error| Error::invalid("roots", file.display(), format!("readable: {error}")))
}

fn send_options(config: &Config) -> Result<SendOptions, Error> {
    let roots = roots(config)?;
    let (ports, name_servers) = (config.ports.clone(), config.name_servers.clone());
    let proxy = egress_proxy(config)?;
    let url = config.public_url.as_deref().and_then(|url| Url::parse(url).ok());
    let origin = url.and_then(|url| url.host_str().map(str::to_owned));
    let allow_private = config.allow_private;
    Ok(SendOptions { allow_private, ports, roots, name_servers, proxy, origin })
}

/// The proxy with the credentials of its file, if it has one.
fn egress_proxy(config: &Config) -> Result<Option<EgressProxy>, Error> {
    let Some(file) = &config.egress_proxy_auth_file else { return Ok(config.egress_proxy.clone()) };
    let wrong = |why: &str| Error::invalid("egress_proxy_auth_file", file.display(), why);
    let proxy = config.egress_proxy.clone();
    let proxy = proxy.ok_or_else(|| wrong("left out where there is no egress_proxy"))?;
    let text =
        std::fs::read_to_string(file).map_err(|error| wrong(&format!("readable: {error}")))?;
    let bound = "a file with name:password of at most 200 bytes";
    proxy.with_credentials(&text).map(Some).map_err(|_| wrong(bound))
}

/// A year, in which browsers use only TLS (RFC 6797).
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

fn routes(
    node: &Node,
    (admin, operators): (&AdminKey, OperatorFile),
    config: &Config,
    address: SocketAddr,
) -> Result<Router, Error> {
    let base = config.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let api = ApiOptions {
        admin: Some(admin.hash()),
        operators: operators.clone(),
        rate: config.rate,
        max_body: config.max_body,
        max_payload: config.max_payload,
        base: Some(base.clone()),
    };
    let secure = config.public_url.as_ref().is_some_and(|url| url.starts_with("https:"));
    let admin_key = Some(admin.hash());
    let ui = UiOptions {
        admin_key,
        operators,
        secure,
        #[cfg(feature = "oidc")]
        oidc: Oidc::new(&config.oidc, config.public_url.as_deref(), &roots(config)?)?,
        base: Some(base),
        portal: config.portal.clone(),
    };
    let routes = api::router(node.clone(), api).merge(ui::router(node.clone(), ui));
    if !secure {
        return Ok(routes);
    }
    Ok(routes.layer(map_response(async |mut response: Response| {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, HSTS);
        response
    })))
}
