//! A dispatcher on an empty store, with an application whose endpoints are all at one receiver.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::load::{End, Load};
use super::log::Log;
use crate::rig::{Driver, Home, Process, Reaction, Receiver, StoreKind};

/// The binary that is measured, and what it keeps its things in.
pub(crate) type Setup<'b> = (&'b Path, StoreKind);

/// Everything that one measurement needs; the process ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) process: Process,
    pub(crate) log: Arc<Log>,
    addr: SocketAddr,
    application: String,
    _receiver: Receiver,
    _home: Home,
}

impl Stage {
    /// Starts it with an endpoint for each of `endpoints`: its settings without URL, and what it does.
    pub(crate) async fn start(
        (binary, store): Setup<'_>,
        endpoints: Vec<(Value, Reaction)>,
    ) -> Result<Self, Box<dyn Error>> {
        let home = Home::new("bench", store)?;
        let (settings, reactions): (Vec<_>, Vec<_>) = endpoints.into_iter().unzip();
        let log = Arc::new(Log::new(reactions));
        let receiver = Receiver::start(Arc::clone(&log)).await?;
        let mut process = Process::spawn(binary, &home.site(0)?)?;
        let addr = process.address().await?;
        let mut driver = Driver::new(addr).await?;
        for (at, mut settings) in settings.into_iter().enumerate() {
            settings["url"] = receiver.url(at).into();
            driver.endpoint(&settings).await?;
        }
        let application = driver.application().to_owned();
        Ok(Self { process, log, addr, application, _receiver: receiver, _home: home })
    }

    /// A load on its application.
    pub(crate) fn load(&self, connections: usize, pace: Option<f64>, end: End) -> Load {
        let (addr, application) = (self.addr, self.application.clone());
        Load { addr, application, connections, pace, end }
    }
}
