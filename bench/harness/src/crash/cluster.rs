//! All nodes of a run, and what is done to them.

use std::collections::BTreeSet;
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stagger_core::{Entropy, Span};
use stagger_testkit::Mix;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use xtask_workbench::note;

use super::cast::{Crash, Role, Trouble, below};
use super::leaders::Roster;
use super::ledger::DeliveryLedger;
use super::node::Node;
use super::poster::Place;
use crate::rig::{Driver, Home, Receiver, StopMode, connect, is_member};

/// The shortest time from the last trouble to the next one: sometimes before a node listens again.
const SHORTEST: Span = Span::from_millis(10);
const LONGEST: Span = Span::from_secs(3);
/// The least time beyond a lease for which a node is cut off or paused.
const LONGER: Duration = Duration::from_millis(500);
/// The longest time for which PostgreSQL is stopped.
const AWAY: Span = Span::from_secs(1);
/// The longest time that PostgreSQL runs on after the copy to which it is restored.
const FORGOTTEN: Span = Span::from_secs(1);
/// The interval between checks whether a node is a member.
const LOOK: Duration = Duration::from_millis(5);
/// The longest wait for the eviction of a node that stands still, and for its joining again.
const MEMBER_LIMIT: Duration = Duration::from_secs(30);

/// The nodes, on one store.
#[derive(Debug)]
pub(super) struct Cluster<'h> {
    home: &'h Home,
    nodes: Vec<Node>,
    roster: Arc<Roster>,
    ledger: Arc<DeliveryLedger>,
    lease: Duration,
    drains_skipped: usize,
}

impl<'h> Cluster<'h> {
    /// Starts the nodes; `lease` is told to them when there are several.
    pub(super) async fn start(
        binary: &Path,
        home: &'h Home,
        (crash, ledger): (&Crash, &Arc<DeliveryLedger>),
        lease: Duration,
    ) -> Result<Self, Box<dyn Error>> {
        let roster = Arc::new(Roster::new());
        let mut nodes = Vec::new();
        for number in 0..usize::from(crash.nodes) {
            let flags = ((crash.nodes > 1).then_some(lease), crash);
            nodes.push(Node::start(binary, (home, number), flags, &roster).await?);
        }
        let ledger = Arc::clone(ledger);
        Ok(Self { home, nodes, roster, ledger, lease, drains_skipped: 0 })
    }

    pub(super) const fn roster(&self) -> &Arc<Roster> {
        &self.roster
    }

    /// The drains after which the node was still a member.
    pub(super) const fn drains_skipped(&self) -> usize {
        self.drains_skipped
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
            Trouble::Drain => self.drain(victim).await,
            Trouble::Cut => node.cut(span, forgetful).await,
            Trouble::Pause => self.pause(victim, span).await,
            Trouble::Restore => self.restore(mix.draw(Span::ZERO, FORGOTTEN).into()).await,
            Trouble::Restart => {
                let ending = if forgetful { StopMode::Immediate } else { StopMode::Fast };
                self.restart(ending, mix.draw(Span::ZERO, AWAY).into()).await
            }
        }
    }

    /// A node ends in order, and must be no member then.
    async fn drain(&mut self, victim: usize) -> Result<(), Box<dyn Error>> {
        let node = &mut self.nodes[victim];
        node.wait().await?;
        let name = node.addr().map(|addr| addr.to_string()).unwrap_or_default();
        node.drain().await?;
        if let Some(database) = self.home.database() {
            let client = connect(database.url()).await?;
            self.drains_skipped += usize::from(is_member(&client, &name).await?);
        }
        Ok(())
    }

    /// A node stands still until the others have evicted it, and must not send before it has joined
    /// again.
    async fn pause(&self, victim: usize, span: Duration) -> Result<(), Box<dyn Error>> {
        let node = &self.nodes[victim];
        let membership = match (self.home.database(), node.addr()) {
            (Some(database), Some(addr)) if self.nodes.len() > 1 => {
                Some((connect(database.url()).await?, addr.to_string()))
            }
            _ => None,
        };
        let membership = membership.as_ref();
        node.pause(async |ports| {
            sleep(span).await;
            let Some((client, name)) = membership else { return Ok(()) };
            let until = Instant::now() + MEMBER_LIMIT;
            while is_member(client, name).await? {
                // On a slow machine it may be a member yet, and then may send when it goes on.
                if Instant::now() > until {
                    note("    not evicted, so that nothing is known about its attempts");
                    return Ok(());
                }
                sleep(LOOK).await;
            }
            self.ledger.evict(ports);
            Ok(())
        })
        .await?;
        let Some((client, name)) = membership else { return Ok(()) };
        let until = Instant::now() + MEMBER_LIMIT;
        loop {
            // Those that had come before the question, if the answer says that it was no member: one that comes
            // later may be of the next membership.
            let before = self.ledger.sent_while_evicted();
            if is_member(client, name).await? || Instant::now() > until {
                break;
            }
            self.ledger.condemn(before);
            sleep(LOOK).await;
        }
        self.ledger.evict(BTreeSet::new());
        Ok(())
    }

    /// PostgreSQL goes on for as long as `span` after a copy, and is restored to it.
    async fn restore(&self, span: Duration) -> Result<(), Box<dyn Error>> {
        let database = self.home.database().ok_or("there is no database")?;
        note(&format!("    PostgreSQL: restored to {span:?} before"));
        self.roster.database_goes();
        database.stop(StopMode::Fast).await?;
        database.copy().await?;
        self.ledger.undo(true);
        database.go_on().await?;
        self.roster.database_is_back();
        sleep(span).await;
        self.roster.database_goes();
        database.stop(StopMode::Immediate).await?;
        database.restore().await?;
        database.go_on().await?;
        self.ledger.undo(false);
        self.roster.database_is_back();
        Ok(())
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
