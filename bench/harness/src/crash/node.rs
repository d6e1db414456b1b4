//! One node of the run: a process, and what connects it with its database.

use std::collections::BTreeSet;
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use xtask_workbench::note;

use super::cast::Crash;
use super::leaders::Roster;
use super::poster::Place;
use crate::rig::{Cable, Home, Process, Site};

/// The longest time that a node may take to end.
const END_LIMIT: Duration = Duration::from_secs(120);

/// Starts in a row that may fail, and how long to wait before the next one.
const MOST_FAILED: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// A node, whose process may be another one than before.
#[derive(Debug)]
pub(super) struct Node {
    binary: PathBuf,
    site: Site,
    /// The folder of its logs, and the number of its starts.
    logs: Option<PathBuf>,
    lives: usize,
    /// The number of failed starts in a row.
    failed: usize,
    process: Process,
    cable: Option<Cable>,
    up: watch::Sender<Option<SocketAddr>>,
    roster: Arc<Roster>,
}

impl Node {
    /// Starts one; the first of a run is to be up before the next is started.
    pub(super) async fn start(
        binary: &Path,
        (home, number): (&Home, usize),
        (lease, crash): (Option<Duration>, &Crash),
        roster: &Arc<Roster>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut site = Site { lease, redis: crash.redis.clone(), ..home.site(number)? };
        let logs = crash.logs.as_deref().map(|logs| logs.join(format!("node-{number}")));
        let cable = match home.database() {
            Some(database) => Some(Cable::lay(&database.socket()).await?),
            None => None,
        };
        if let Some(cable) = &cable {
            site.store = format!("postgres://stagger@{}/postgres", cable.addr());
        }
        let (binary, roster) = (binary.to_owned(), Arc::clone(roster));
        let lives = 1;
        site.name_log(logs.as_deref(), lives)?;
        let process = Process::spawn(&binary, &site)?;
        let up = watch::Sender::new(None);
        let mut node = Self { binary, site, logs, lives, failed: 0, process, cable, up, roster };
        node.wait().await?;
        Ok(node)
    }

    /// Its current address; changes when it is restarted.
    pub(super) fn place(&self) -> Place {
        self.up.subscribe()
    }

    pub(super) fn addr(&self) -> Option<SocketAddr> {
        *self.up.borrow()
    }

    /// Waits until it listens. One that does not get at its database in time when it starts ends, and is
    /// started again, as by those who look after services.
    pub(super) async fn wait(&mut self) -> Result<(), Box<dyn Error>> {
        while self.addr().is_none() {
            match self.process.address().await {
                Ok(addr) => {
                    self.roster.rise(&addr.to_string());
                    self.up.send_replace(Some(addr));
                    self.failed = 0;
                }
                Err(why) if self.failed >= MOST_FAILED => return Err(why),
                Err(why) => {
                    note(&format!("    started again: {why}"));
                    self.failed += 1;
                    sleep(PAUSE).await;
                    self.again()?;
                }
            }
        }
        Ok(())
    }

    /// Kills it, and starts it anew after `away`.
    pub(super) async fn kill(&mut self, away: Duration) -> Result<(), Box<dyn Error>> {
        self.process.kill()?;
        self.fall();
        self.up.send_replace(None);
        sleep(away).await;
        self.again()
    }

    /// Has it end in order, and starts it anew.
    pub(super) async fn drain(&mut self) -> Result<(), Box<dyn Error>> {
        // One that does not listen yet may not know the signal either.
        self.wait().await?;
        self.fall();
        self.process.end(END_LIMIT).await?;
        self.up.send_replace(None);
        self.again()
    }

    /// Cuts it off from its database for as long as `span`.
    pub(super) async fn cut(&self, span: Duration, forgetful: bool) -> Result<(), Box<dyn Error>> {
        let cable = self.cable.as_ref().ok_or("only what is connected can be cut")?;
        cable.cut();
        self.fall();
        sleep(span).await;
        cable.mend(forgetful);
        self.rise();
        Ok(())
    }

    /// Has it stand still until `over` is ready, which gets the ports of its connections.
    pub(super) async fn pause(
        &self,
        over: impl AsyncFnOnce(BTreeSet<u16>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        self.process.pause()?;
        self.fall();
        let waited = over(self.process.ports()?).await;
        self.process.go_on()?;
        waited?;
        self.rise();
        Ok(())
    }

    /// It may have ended by itself, which nobody asked for.
    pub(super) fn check(&mut self) -> Result<(), Box<dyn Error>> {
        self.process.check()
    }

    fn again(&mut self) -> Result<(), Box<dyn Error>> {
        self.lives += 1;
        self.site.name_log(self.logs.as_deref(), self.lives)?;
        self.process = Process::spawn(&self.binary, &self.site)?;
        Ok(())
    }

    fn fall(&self) {
        if let Some(addr) = self.addr() {
            self.roster.fall(&addr.to_string());
        }
    }

    fn rise(&self) {
        if let Some(addr) = self.addr() {
            self.roster.rise(&addr.to_string());
        }
    }
}
