//! The parts of a node, put together: each gets the others that it uses.

use std::sync::Arc;

use stagger_sender::Sender;
use stagger_store::{ClusterHandle, DeliveryStore, Fence, NodeIdentity};
use tokio::sync::{mpsc, watch};

use super::NodeOptions;
use super::attempt::{AttemptRunner, PayloadCache};
use super::clock::EngineClock;
use super::directory::Directory;
use super::fleet::{
    CommandExecutor, FleetLinks, FleetView, Leadership, SettingsSync, ShardMover, Work,
};
use super::health::NodeHealth;
use super::installation::Installation;
use super::intake::{Intake, IntakeRoom};
use super::operational::{EventMaker, OperationalEvents};
use super::operator_events::OperatorEvents;
use super::replay::Replayer;
use super::runner::Runner;
use super::scheduler_state::{Command, Inbox, SchedulerState};
use super::settings_writer::{EndpointControl, SettingsWriter};
use super::settle_queue::{PendingNotifications, QueuedSettlement, SettleQueue};
use super::settler::Settler;
use super::shared_budgets::{SharedBudgets, SharedCharges};
use super::starting::StartingAttempts;
use super::status::{AttemptCounter, NodeStatus};
use super::submission::ReceiverChoice;
use super::tasks::Pruner;
use crate::observe::Instruments;
use crate::random::IdGenerator;

/// A node whose tasks do not run yet.
#[derive(Debug)]
pub(super) struct NodeParts {
    pub(super) directory: Arc<Directory>,
    pub(super) installation: Arc<Installation>,
    pub(super) health: Arc<NodeHealth>,
    pub(super) settings: Arc<SettingsSync>,
    pub(super) settings_writer: SettingsWriter,
    pub(super) endpoint_control: EndpointControl,
    pub(super) intake: Intake,
    pub(super) replayer: Replayer,
    pub(super) status: NodeStatus,
    pub(super) runner: Runner,
    pub(super) settler: Settler,
    pub(super) pruner: Pruner,
    pub(super) fleet: Arc<FleetLinks>,
}

/// Makes the parts of a node.
pub(super) fn assemble(
    store: &Arc<dyn DeliveryStore>,
    sender: &Sender,
    budgets: Option<SharedBudgets>,
    options: &NodeOptions,
) -> NodeParts {
    let (inbox, commands) = Inbox::new();
    let (settling, settlements) = SettleQueue::new();
    let builder = NodeBuilder::new(store, sender, options, inbox);
    NodeParts {
        settings_writer: builder.settings_writer(),
        endpoint_control: builder.endpoint_control(),
        intake: builder.intake(),
        replayer: builder.replayer(),
        status: builder.status(),
        runner: builder.runner(commands, settling, budgets),
        settler: builder.settler(settlements),
        pruner: builder.pruner(),
        fleet: Arc::new(builder.fleet()),
        directory: builder.directory,
        installation: builder.installation,
        health: builder.health,
        settings: builder.settings,
    }
}

/// The parts that several others use.
struct NodeBuilder<'o> {
    options: &'o NodeOptions,
    store: Arc<dyn DeliveryStore>,
    cluster: ClusterHandle,
    sender: Sender,
    inbox: Inbox,
    clock: EngineClock,
    directory: Arc<Directory>,
    installation: Arc<Installation>,
    message_ids: Arc<IdGenerator>,
    payloads: Arc<PayloadCache>,
    rates: Arc<AttemptCounter>,
    health: Arc<NodeHealth>,
    instruments: Arc<Instruments>,
    leadership: Arc<Leadership>,
    settings: Arc<SettingsSync>,
    view: Arc<FleetView>,
    notifications: Arc<PendingNotifications>,
    lost: watch::Sender<Option<Fence>>,
    name: NodeIdentity,
}

impl<'o> NodeBuilder<'o> {
    fn new(
        store: &Arc<dyn DeliveryStore>,
        sender: &Sender,
        options: &'o NodeOptions,
        inbox: Inbox,
    ) -> Self {
        let (clock, cluster) = (EngineClock::start(), ClusterHandle::of(store));
        let directory = Arc::<Directory>::default();
        let installation = Arc::new(Installation::new(options.event_validation));
        let leadership = Arc::new(Leadership::nothing());
        let settings = SettingsSync::new(
            (Arc::clone(store), cluster.clone()),
            (Arc::clone(&directory), Arc::clone(&installation), sender.clone()),
            Arc::clone(&leadership),
            (inbox.clone(), clock),
        );
        Self {
            options,
            store: Arc::clone(store),
            cluster,
            sender: sender.clone(),
            inbox,
            clock,
            directory,
            installation,
            message_ids: Arc::default(),
            payloads: Arc::new(PayloadCache::new(options.payload_memory)),
            rates: Arc::default(),
            health: Arc::new(NodeHealth::new()),
            instruments: Arc::new(Instruments::new()),
            leadership,
            settings: Arc::new(settings),
            view: Arc::default(),
            notifications: Arc::default(),
            lost: watch::Sender::new(None),
            name: options.name(clock.now()),
        }
    }

    fn runner(
        &self,
        commands: mpsc::UnboundedReceiver<Command>,
        settling: SettleQueue,
        budgets: Option<SharedBudgets>,
    ) -> Runner {
        let (health, directory) = (Arc::clone(&self.health), Arc::clone(&self.directory));
        let slots = self.options.slots;
        Runner {
            state: SchedulerState::new(
                slots,
                self.clock,
                health,
                directory,
                settling,
                self.operator_events(),
            ),
            commands,
            inbox: self.inbox.clone(),
            attempt_runner: Arc::new(self.attempt_runner()),
            rates: Arc::clone(&self.rates),
            instruments: Arc::clone(&self.instruments),
            operational_events: OperationalEvents(self.event_maker()),
            shared_charges: SharedCharges::new(budgets, Arc::clone(&self.directory)),
            under_way: 0,
            starting: StartingAttempts::new(self.inbox.clone()),
            logged_at: None,
        }
    }

    fn operator_events(&self) -> OperatorEvents {
        OperatorEvents::new(
            self.options.operational_events,
            self.event_maker(),
            (Arc::clone(&self.health), self.options.app_max_open()),
            Arc::clone(&self.instruments),
        )
    }

    fn event_maker(&self) -> EventMaker {
        EventMaker {
            directory: Arc::clone(&self.directory),
            message_ids: Arc::clone(&self.message_ids),
        }
    }

    fn attempt_runner(&self) -> AttemptRunner {
        let (store, sender) = (Arc::clone(&self.store), self.sender.clone());
        AttemptRunner::new(store, sender, Arc::clone(&self.directory), Arc::clone(&self.payloads))
    }

    fn settler(&self, queue: mpsc::UnboundedReceiver<QueuedSettlement>) -> Settler {
        Settler {
            queue,
            cluster: self.cluster.clone(),
            clock: self.clock,
            health: Arc::clone(&self.health),
            instruments: Arc::clone(&self.instruments),
            inbox: self.inbox.clone(),
            notifications: Arc::clone(&self.notifications),
            lost: self.lost.clone(),
        }
    }

    fn pruner(&self) -> Pruner {
        Pruner {
            store: Arc::clone(&self.store),
            directory: Arc::clone(&self.directory),
            leadership: Arc::clone(&self.leadership),
            clock: self.clock,
            retention: self.options.retention,
        }
    }

    fn intake(&self) -> Intake {
        let (health, view) = (Arc::clone(&self.health), Arc::clone(&self.view));
        Intake {
            room: IntakeRoom::new(health, view, self.options),
            receivers: ReceiverChoice {
                directory: Arc::clone(&self.directory),
                message_ids: Arc::clone(&self.message_ids),
                settings: Arc::clone(&self.settings),
            },
            installation: Arc::clone(&self.installation),
            cluster: self.cluster.clone(),
            leadership: Arc::clone(&self.leadership),
            payloads: Arc::clone(&self.payloads),
            inbox: self.inbox.clone(),
            instruments: Arc::clone(&self.instruments),
            clock: self.clock,
        }
    }

    fn settings_writer(&self) -> SettingsWriter {
        SettingsWriter {
            cluster: self.cluster.clone(),
            settings: Arc::clone(&self.settings),
            directory: Arc::clone(&self.directory),
            sender: self.sender.clone(),
            clock: self.clock,
            turn: Arc::default(),
        }
    }

    fn endpoint_control(&self) -> EndpointControl {
        EndpointControl {
            store: Arc::clone(&self.store),
            cluster: self.cluster.clone(),
            leadership: Arc::clone(&self.leadership),
            health: Arc::clone(&self.health),
            inbox: self.inbox.clone(),
            clock: self.clock,
        }
    }

    fn replayer(&self) -> Replayer {
        Replayer {
            store: Arc::clone(&self.store),
            cluster: self.cluster.clone(),
            health: Arc::clone(&self.health),
            leadership: Arc::clone(&self.leadership),
            inbox: self.inbox.clone(),
            clock: self.clock,
            max_open: self.options.max_open,
            app_max_open: self.options.app_max_open(),
        }
    }

    fn status(&self) -> NodeStatus {
        NodeStatus {
            store: Arc::clone(&self.store),
            cluster: self.cluster.clone(),
            directory: Arc::clone(&self.directory),
            leadership: Arc::clone(&self.leadership),
            fleet: Arc::clone(&self.view),
            payloads: Arc::clone(&self.payloads),
            rates: Arc::clone(&self.rates),
            health: Arc::clone(&self.health),
            inbox: self.inbox.clone(),
            clock: self.clock,
            max_open: self.options.max_open,
            name: self.name.clone(),
        }
    }

    fn fleet(&self) -> FleetLinks {
        FleetLinks {
            cluster: self.cluster.clone(),
            leadership: Arc::clone(&self.leadership),
            settings: Arc::clone(&self.settings),
            view: Arc::clone(&self.view),
            mover: Arc::new(self.shard_mover()),
            work: Arc::new(self.work()),
            notifications: Arc::clone(&self.notifications),
            lost: self.lost.clone(),
            health: Arc::clone(&self.health),
            inbox: self.inbox.clone(),
            clock: self.clock,
            name: self.name.clone(),
            lease: self.options.lease,
        }
    }

    fn shard_mover(&self) -> ShardMover {
        ShardMover {
            store: Arc::clone(&self.store),
            cluster: self.cluster.clone(),
            leadership: Arc::clone(&self.leadership),
            settings: Arc::clone(&self.settings),
            directory: Arc::clone(&self.directory),
            inbox: self.inbox.clone(),
            clock: self.clock,
        }
    }

    fn work(&self) -> Work {
        let commands = CommandExecutor {
            store: Arc::clone(&self.store),
            cluster: self.cluster.clone(),
            settings: Arc::clone(&self.settings),
            directory: Arc::clone(&self.directory),
            inbox: self.inbox.clone(),
        };
        let bounds = (Arc::clone(&self.health), self.options.max_open);
        Work::new(commands, Arc::clone(&self.leadership), Arc::clone(&self.payloads), bounds)
    }
}
