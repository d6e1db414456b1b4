//! The cluster of one: the contract of a cluster over a store that a single node uses.
//!
//! The node leads all shards from the start, sends no heartbeats, and is never evicted. Only another
//! run that takes over the store ends its membership. Arrivals, commands and changed settings are kept
//! in memory: they all come from this node, and a new run loads the store anew.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use stagger::Instant;
use stagger_scheduler::model::{Delivery, EndpointId, EndpointState, Message, NewMessage};
use tokio::sync::mpsc;

use super::{
    Arrival, ChangeLog, Cluster, ClusterAccept, ClusterMember, ClusterView, Cursor, DeliveryStore,
    EndpointCommand, Fence, Joined, Lead, NodeIdentity, Notification, ReplayRequest, SettingChange,
    SettingWrite, Settlement, ShardId, Shards,
};
use crate::Error;
use crate::calls::run_ended;

/// Deliveries loaded in one call of the store: 2 MB.
const PAGE: usize = 10_000;

/// The contract of a cluster for the only node of a store, which changes one setting at a time.
#[derive(Debug)]
pub(crate) struct SoleCluster {
    store: Arc<dyn DeliveryStore>,
    state: Mutex<SoleState>,
}

#[derive(Debug)]
struct SoleState {
    member: ClusterMember,
    listener: Option<mpsc::UnboundedSender<Notification>>,
    /// The number of the last change of settings. It is above 0 from the start, so that a node that
    /// has read nothing reads all settings.
    settings_version: u64,
    /// The changes that the node has not read yet.
    changes: VecDeque<(u64, SettingChange)>,
    /// The last number of an arrival or a command.
    given: u64,
    arrivals: BTreeMap<u64, Arrival>,
    commands: BTreeMap<u64, (EndpointId, EndpointCommand)>,
}

impl SoleCluster {
    pub(super) fn new(store: Arc<dyn DeliveryStore>) -> Self {
        let state = SoleState {
            member: ClusterMember {
                fence: Fence::default(),
                node: NodeIdentity::default(),
                heartbeat: 1,
                leaving: false,
                shards: Shards::NONE,
            },
            listener: None,
            settings_version: 1,
            changes: VecDeque::new(),
            given: 0,
            arrivals: BTreeMap::new(),
            commands: BTreeMap::new(),
        };
        Self { store, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, SoleState> {
        // It is whole between any two of its assignments.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SoleState {
    fn arrive(&mut self, delivery: Delivery, content: Option<(Message, Bytes)>) {
        self.given += 1;
        let arrival = Arrival { number: self.given, delivery: Some(delivery), content };
        self.arrivals.insert(self.given, arrival);
    }

    fn arrive_all(&mut self, new: NewMessage) {
        let NewMessage { message, payload, endpoints } = new;
        let (id, application, at) = (message.id, message.application, message.created_at);
        for endpoint in endpoints {
            let content = Some((message.clone(), payload.clone()));
            self.arrive(Delivery::new(id, endpoint, application, at), content);
        }
    }
}

#[async_trait]
impl Cluster for SoleCluster {
    async fn join(&self, node: &NodeIdentity) -> Result<Joined, Error> {
        let fence = self.store.begin_run().await?;
        let (sender, notifications) = mpsc::unbounded_channel();
        let mut state = self.state();
        state.member.fence = fence;
        node.clone_into(&mut state.member.node);
        state.member.shards = Shards::ALL;
        state.listener = Some(sender);
        Ok(Joined { fence, shards: Shards::ALL, heartbeats: false, notifications })
    }

    async fn rejoin(&self, _node: &NodeIdentity, ended: Fence) -> Result<Joined, Error> {
        Err(run_ended(ended))
    }

    async fn heartbeat(&self, _fence: Fence, leaving: bool) -> Result<ClusterView, Error> {
        let mut state = self.state();
        state.member.leaving = leaving;
        let (members, settings_version) = (vec![state.member.clone()], state.settings_version);
        Ok(ClusterView { members, settings_version, ..ClusterView::default() })
    }

    async fn evict(&self, _fence: Fence, _heartbeat: u64) -> Result<bool, Error> {
        Ok(false)
    }

    async fn acquire(&self, _fence: Fence, _most: usize) -> Result<Shards, Error> {
        Ok(Shards::NONE)
    }

    async fn release(&self, _fence: Fence, shards: Shards) -> Result<(), Error> {
        let mut state = self.state();
        state.member.shards = state.member.shards.without(shards);
        Ok(())
    }

    async fn leave(&self, _fence: Fence) -> Result<(), Error> {
        Ok(())
    }

    async fn load(
        &self,
        shards: Shards,
        page: &mut (dyn FnMut(Vec<Delivery>) + Send),
    ) -> Result<Vec<u64>, Error> {
        let mut after = None;
        loop {
            let mut found = self.store.open_deliveries(after, PAGE).await?;
            let is_last = found.len() < PAGE;
            after = found.last().map(Cursor::of_delivery);
            if shards != Shards::ALL {
                found.retain(|delivery| shards.contains(ShardId::of(delivery.endpoint)));
            }
            if !found.is_empty() {
                page(found);
            }
            if is_last {
                return Ok(Vec::new());
            }
        }
    }

    async fn accept(
        &self,
        _lead: Lead,
        _settings_version: u64,
        messages: Vec<NewMessage>,
    ) -> Result<ClusterAccept, Error> {
        self.store.accept(messages).await.map(ClusterAccept::Stored)
    }

    async fn settle_as_leader(
        &self,
        fence: Fence,
        settlements: Vec<Settlement>,
    ) -> Result<(), Error> {
        let operational = settlements.iter().flat_map(|it| it.operational.clone());
        let operational: Vec<NewMessage> = operational.collect();
        self.store.settle(fence, settlements).await?;
        if !operational.is_empty() {
            let mut state = self.state();
            operational.into_iter().for_each(|new| state.arrive_all(new));
        }
        Ok(())
    }

    async fn replay_to_leaders(
        &self,
        request: ReplayRequest,
        now: Instant,
        limit: usize,
    ) -> Result<Vec<Delivery>, Error> {
        let replayed = self.store.replay(request, now, limit).await?;
        let mut state = self.state();
        replayed.iter().for_each(|delivery| state.arrive(*delivery, None));
        Ok(replayed)
    }

    async fn change_setting(&self, write: SettingWrite) -> Result<(), Error> {
        let change = change_by(&write);
        self.store.write_setting(write).await?;
        let mut state = self.state();
        state.settings_version += 1;
        let version = state.settings_version;
        state.changes.push_back((version, change));
        Ok(())
    }

    async fn arrivals(
        &self,
        shards: Shards,
        done: &[u64],
        limit: usize,
    ) -> Result<Vec<Arrival>, Error> {
        let mut state = self.state();
        for number in done {
            state.arrivals.remove(number);
        }
        let is_of = |arrival: &&Arrival| {
            arrival.delivery.is_none_or(|it| shards.contains(ShardId::of(it.endpoint)))
        };
        Ok(state.arrivals.values().filter(is_of).take(limit).cloned().collect())
    }

    async fn changes_since(&self, after: u64) -> Result<ChangeLog, Error> {
        let mut state = self.state();
        while state.changes.front().is_some_and(|(version, _)| *version <= after) {
            state.changes.pop_front();
        }
        let changes = state.changes.iter().map(|(_, change)| change.clone()).collect();
        Ok(ChangeLog { to: state.settings_version, changes: (after > 0).then_some(changes) })
    }

    async fn send_command(
        &self,
        endpoint: EndpointId,
        command: EndpointCommand,
    ) -> Result<u64, Error> {
        let mut state = self.state();
        if !state.member.shards.contains(ShardId::of(endpoint)) {
            return Err(Error::busy("the dispatcher is stopping"));
        }
        state.given += 1;
        let number = state.given;
        state.commands.insert(number, (endpoint, command));
        Ok(number)
    }

    async fn commands(
        &self,
        shards: Shards,
    ) -> Result<Vec<(u64, EndpointId, EndpointCommand)>, Error> {
        let state = self.state();
        let is_of = |(_, (endpoint, _)): &(&u64, &(EndpointId, EndpointCommand))| {
            shards.contains(ShardId::of(*endpoint))
        };
        let found = state.commands.iter().filter(is_of);
        Ok(found.map(|(number, (endpoint, command))| (*number, *endpoint, *command)).collect())
    }

    async fn complete_commands(&self, commands: &[u64]) -> Result<(), Error> {
        let mut state = self.state();
        for number in commands {
            state.commands.remove(number);
        }
        Ok(())
    }

    async fn is_command_done(&self, command: u64) -> Result<bool, Error> {
        Ok(!self.state().commands.contains_key(&command))
    }

    async fn endpoint_state(&self, _endpoint: EndpointId) -> Result<Option<EndpointState>, Error> {
        // The queues of all endpoints are here.
        Ok(None)
    }

    async fn notify(&self, notification: Notification) {
        // Only arrivals and commands are news to the node itself.
        if matches!(notification, Notification::Work(_))
            && let Some(listener) = &self.state().listener
        {
            _ = listener.send(notification);
        }
    }
}

/// The change that a write makes. An endpoint that is new has learned nothing; the state of another is
/// in its queue.
fn change_by(write: &SettingWrite) -> SettingChange {
    match write {
        SettingWrite::PutApplication(application) => {
            SettingChange::Application(application.id, Some(application.clone()))
        }
        SettingWrite::DeleteApplication(id) => SettingChange::Application(*id, None),
        SettingWrite::PutEndpoint(endpoint) => {
            let unlearned = EndpointState::default();
            SettingChange::Endpoint(endpoint.id, Some((endpoint.clone(), unlearned)))
        }
        SettingWrite::DeleteEndpoint(id, _) => SettingChange::Endpoint(*id, None),
        SettingWrite::PutDocument(document) => {
            SettingChange::Document(document.key.clone(), Some(document.text.clone()))
        }
        SettingWrite::DeleteDocument(key) => SettingChange::Document(key.clone(), None),
    }
}
