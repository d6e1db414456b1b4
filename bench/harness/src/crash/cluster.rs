//! All nodes of a run, and what is done to them.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stagger_core::{Entropy, Span};
use stagger_testkit::Mix;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::cast::Role;
use super::node::Node;
use super::options::Crash;
use super::poster::Place;
use super::roster::Roster;
use super::trouble::{Trouble, below};
use crate::rig::{Driver, Home, Receiver, StopMode};
use xtask_workbench::note;

/// The shortest time from the last trouble to the next one: sometimes before a node listens again.
const SHORTEST: Span = Span::from_millis(10);
const LONGEST: Span = Span::from_secs(3);
/// The least time beyond a lease for which a node is cut off or paused.
const LONGER: Duration = Duration::from_millis(500);
/// The longest time for which PostgreSQL is stopped.
const AWAY: Span = Span::from_secs(1);
/// The nodes, on one store.
#[derive(Debug)]
pub(super) struct Cluster<'h> {
    home: &'h Home,
    nodes: Vec<Node>,
    roster: Arc<Roster>,
    lease: Duration,
}

impl<'h> Cluster<'h> {
    /// Starts the nodes; `lease` is told to them when there are several.
    pub(super) async fn start(
        binary: &Path,
        home: &'h Home,
        crash: &Crash,
        lease: Duration,
    ) -> Result<Self, Box<dyn Error>> {
        let roster = Arc::new(Roster::new());
        let mut nodes = Vec::new();
        for number in 0..usize::from(crash.nodes) {
            let flags = ((crash.nodes > 1).then_some(lease), crash);
            nodes.push(Node::start(binary, (home, number), flags, &roster).await?);
        }
        Ok(Self { home, nodes, roster, lease })
    }

    pub(super) const fn roster(&self) -> &Arc<Roster> {
        &self.roster
    }

    pub(super) fn places(&self) -> Vec<Place> {
        self.nodes.iter().map(Node::place).collect()
    }

    /// The address of the first node.
    pub(super) fn addr(&self) -> Result<SocketAddr, Box<dyn Error>> {
        self.nodes.first().and_then(Node::addr).ok_or_else(|| "the server is not up".into())
    }

    /// Makes an application with an endpoint for each role, and waits until every node knows them; its
    /// id, and those of the endpoints.
    pub(super) async fn introduce(
        &self,
        roles: &[Role],
        receiver: &Receiver,
    ) -> Result<(String, Vec<String>), Box<dyn Error>> {
        let mut driver = Driver::new(self.addr()?).await?;
        let mut endpoints = Vec::new();
        for (at, role) in roles.iter().enumerate() {
            endpoints.push(driver.endpoint(&role.settings(&receiver.url(at))).await?);
        }
        let application = driver.application().to_owned();
        for addr in self.nodes.iter().filter_map(Node::addr) {
            Driver::wait_for_news(addr, &application, endpoints.len()).await?;
        }
        Ok((application, endpoints))
    }

    /// Lets the nodes live for a while, and then makes trouble. All others are up by then.
    pub(super) async fn round(
        &mut self,
        trouble: Trouble,
        mix: &mut Mix,
    ) -> Result<(), Box<dyn Error>> {
        let victim = below(mix, self.nodes.len()).ok_or("nobody to trouble")?;
        let life: Duration = mix.draw(SHORTEST, LONGEST).into();
        note(&format!("    node {victim}: {} after {life:?}", trouble.name()));
        let end = Instant::now() + life;
        for (at, node) in self.nodes.iter_mut().enumerate() {
            // Trouble before it listens is trouble too.
            if at != victim {
                node.wait().await?;
            } else if let Ok(up) = timeout_at(end, node.wait()).await {
                up?;
            }
        }
        sleep_until(end).await;
        self.make(trouble, victim, mix).await
    }

    /// Waits until all are up.
    pub(super) async fn wait(&mut self) -> Result<(), Box<dyn Error>> {
        for node in &mut self.nodes {
            node.wait().await?;
            node.check()?;
        }
        Ok(())
    }

    async fn make(
        &mut self,
        trouble: Trouble,
        victim: usize,
        mix: &mut Mix,
    ) -> Result<(), Box<dyn Error>> {
        let several = self.nodes.len() > 1;
        let node = &mut self.nodes[victim];
        let lease = Span::from(self.lease);
        let drawn: Duration = mix.draw(Span::ZERO, lease).into();
        // Longer than the lease, and than what it takes to replace a leader.
        let span = self.lease + LONGER + drawn;
        let forgetful = mix.next_u64().is_multiple_of(2);
        match trouble {
            Trouble::Kill => {
                // A single one has nobody who could take over, and comes back at once.
                node.kill(if several { drawn } else { Duration::ZERO }).await
            }
            Trouble::Drain => node.drain().await,
            Trouble::Cut => node.cut(span, forgetful).await,
            Trouble::Pause => node.pause(span).await,
            Trouble::Restart => {
                let ending = if forgetful { StopMode::Immediate } else { StopMode::Fast };
                self.restart(ending, mix.draw(Span::ZERO, AWAY).into()).await
            }
        }
    }

    /// PostgreSQL ends, and starts again after `away`.
    async fn restart(&self, ending: StopMode, away: Duration) -> Result<(), Box<dyn Error>> {
        let database = self.home.database().ok_or("there is no database")?;
        note(&format!("    PostgreSQL: {ending:?}, away for {away:?}"));
        self.roster.database_goes();
        database.stop(ending).await?;
        sleep(away).await;
        database.go_on().await?;
        self.roster.database_is_back();
        Ok(())
    }
}
