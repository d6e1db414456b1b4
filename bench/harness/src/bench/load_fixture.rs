//! Dispatchers on one empty store, with an application whose endpoints are all at one receiver.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::load::{Load, LoadEnd, LoadLog};
use crate::rig::{
    Database, Driver, Home, Process, Reaction, Receiver, SHARDS, StoreKind, connect, leads,
};

/// The time within which each node must lead its share.
const SHARE_LIMIT: Duration = Duration::from_secs(60);
/// The interval at which the nodes are polled.
const LOOK: Duration = Duration::from_millis(50);

/// The binary that is measured, and what it keeps its things in.
pub(crate) type Setup<'b> = (&'b Path, StoreKind);

/// Everything that one measurement needs; the processes end when it is dropped.
#[derive(Debug)]
pub(crate) struct LoadFixture {
    processes: Vec<Process>,
    pub(crate) log: Arc<LoadLog>,
    addrs: Vec<SocketAddr>,
    application: String,
    endpoints: Vec<String>,
    _receiver: Receiver,
    home: Home,
}

impl LoadFixture {
    /// Starts one node with an endpoint for each of `endpoints`: its settings without URL, and what it
    /// does.
    pub(crate) async fn start(
        setup: Setup<'_>,
        endpoints: Vec<(Value, Reaction)>,
    ) -> Result<Self, Box<dyn Error>> {
        Self::of_several(setup, 1, endpoints).await
    }

    /// The same with several nodes, of which each leads its share of the endpoints.
    pub(crate) async fn of_several(
        (binary, store): Setup<'_>,
        nodes: usize,
        endpoints: Vec<(Value, Reaction)>,
    ) -> Result<Self, Box<dyn Error>> {
        let home = Home::new("bench", store)?;
        let (settings, reactions): (Vec<_>, Vec<_>) = endpoints.into_iter().unzip();
        let log = Arc::new(LoadLog::new(reactions));
        let receiver = Receiver::start(Arc::clone(&log)).await?;
        let (mut processes, mut addrs) = (Vec::new(), Vec::new());
        for number in 0..nodes {
            let mut process = Process::spawn(binary, &home.site(number)?)?;
            addrs.push(process.address().await?);
            processes.push(process);
        }
        if let Some(database) = home.database().filter(|_| nodes > 1) {
            shared_out(database, nodes).await?;
        }
        let mut driver = Driver::new(addrs[0]).await?;
        let mut made = Vec::new();
        for (at, mut settings) in settings.into_iter().enumerate() {
            settings["url"] = receiver.url(at).into();
            made.push(driver.endpoint(&settings).await?);
        }
        let application = driver.application().to_owned();
        for addr in &addrs {
            Driver::wait_for_news(*addr, &application, made.len()).await?;
        }
        let endpoints = made;
        Ok(Self { processes, log, addrs, application, endpoints, _receiver: receiver, home })
    }

    /// The first node.
    pub(crate) fn process(&self) -> &Process {
        &self.processes[0]
    }

    /// Processor time that all nodes have used so far, in milliseconds.
    pub(crate) fn cpu_ms(&self) -> Result<u64, Box<dyn Error>> {
        self.processes.iter().map(Process::cpu_ms).sum()
    }

    /// Memory that all nodes use now, in MiB.
    pub(crate) fn rss_mib(&self) -> Result<f64, Box<dyn Error>> {
        self.processes.iter().map(|process| Ok(process.rss_mib()?.0)).sum()
    }

    /// The database of all nodes.
    pub(crate) fn database(&self) -> Result<&Database, Box<dyn Error>> {
        self.home.database().ok_or_else(|| "there is no database".into())
    }

    /// The API of the first node.
    pub(crate) async fn driver(&self) -> Result<Driver, Box<dyn Error>> {
        Driver::resume(self.addrs[0], self.application.clone()).await
    }

    /// The ids of the endpoints.
    pub(crate) fn endpoints(&self) -> &[String] {
        &self.endpoints
    }

    /// A load on its application, at all nodes.
    pub(crate) fn load(&self, connections: usize, pace: Option<f64>, end: LoadEnd) -> Load {
        let (addrs, application) = (self.addrs.clone(), self.application.clone());
        Load { addrs, application, types: Load::ONE_TYPE, connections, pace, end }
    }
}

/// Waits until each node leads its share.
async fn shared_out(database: &Database, nodes: usize) -> Result<(), Box<dyn Error>> {
    let client = connect(database.url()).await?;
    let until = Instant::now() + SHARE_LIMIT;
    loop {
        let mut shares: BTreeMap<String, usize> = BTreeMap::new();
        for leader in leads(&client).await?.into_values().flatten() {
            *shares.entry(leader).or_default() += 1;
        }
        let least = shares.values().min().copied().unwrap_or_default();
        if shares.len() == nodes && least >= SHARDS / nodes {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(format!("after {SHARE_LIMIT:?} nodes lead {shares:?}").into());
        }
        sleep(LOOK).await;
    }
}
