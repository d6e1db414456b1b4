//! The parts of a node, put together.

use std::sync::Arc;

use tokio::sync::watch;

use super::NodeOptions;
use super::attempt::AttemptRunner;
use super::attempt_rates::AttemptCounter;
use super::clock::EngineClock;
use super::directory::Directory;
use super::endpoint_control::EndpointControl;
use super::fleet::{
    CommandExecutor, FleetLinks, FleetView, Leadership, SettingsSync, ShardMover, Work,
};
use super::health::NodeHealth;
use super::inbox::Inbox;
use super::intake::{Intake, IntakeRoom, ReceiverChoice};
use super::message_ids::MessageIds;
use super::notifications::PendingNotifications;
use super::operational_events::OperationalEvents;
use super::payloads::PayloadCache;
use super::pruning::Pruner;
use super::replay::Replayer;
use super::runner::Runner;
use super::scheduler_state::SchedulerState;
use super::settings_writer::SettingsWriter;
use super::settle_queue::SettleQueue;
use super::settler::Settler;
use super::shared_budgets::{SharedBudgets, SharedCharges};
use super::status::NodeStatus;
use crate::observe::Instruments;
use crate::send::Sender;
use crate::store::{ClusterHandle, DeliveryStore};

/// A node whose tasks do not run yet.
#[derive(Debug)]
pub(super) struct NodeParts {
    pub(super) directory: Arc<Directory>,
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

// tidy: long because it lists once which part of the node has which others
pub(super) fn assemble(
    store: &Arc<dyn DeliveryStore>,
    sender: &Sender,
    budgets: Option<SharedBudgets>,
    options: &NodeOptions,
) -> NodeParts {
    let (clock, cluster) = (EngineClock::start(), ClusterHandle::of(store));
    let (inbox, commands) = Inbox::new();
    let (settling, settlements) = SettleQueue::new();
    let directory = Arc::new(Directory::default());
    let message_ids = Arc::new(MessageIds::default());
    let payloads = Arc::new(PayloadCache::new(options.payload_memory));
    let rates = Arc::new(AttemptCounter::default());
    let health = Arc::new(NodeHealth::new());
    let instruments = Arc::new(Instruments::new());
    let leadership = Arc::new(Leadership::nothing());
    let view = Arc::new(FleetView::default());
    let notifications = Arc::new(PendingNotifications::default());
    let lost = watch::Sender::new(None);
    let settings = Arc::new(SettingsSync::new(
        (Arc::clone(store), cluster.clone()),
        (Arc::clone(&directory), sender.clone()),
        Arc::clone(&leadership),
        (inbox.clone(), clock),
    ));
    let attempt_runner = Arc::new(AttemptRunner::new(
        Arc::clone(store),
        sender.clone(),
        Arc::clone(&directory),
        Arc::clone(&payloads),
    ));
    let runner = Runner {
        state: SchedulerState::new(
            options.slots,
            clock,
            Arc::clone(&health),
            Arc::clone(&directory),
            settling,
        ),
        commands,
        inbox: inbox.clone(),
        attempt_runner,
        rates: Arc::clone(&rates),
        instruments: Arc::clone(&instruments),
        operational_events: OperationalEvents {
            directory: Arc::clone(&directory),
            message_ids: Arc::clone(&message_ids),
        },
        shared_charges: SharedCharges::new(budgets, Arc::clone(&directory)),
        under_way: 0,
    };
    let settler = Settler {
        queue: settlements,
        cluster: cluster.clone(),
        clock,
        health: Arc::clone(&health),
        instruments: Arc::clone(&instruments),
        inbox: inbox.clone(),
        notifications: Arc::clone(&notifications),
        lost: lost.clone(),
    };
    let pruner = Pruner {
        store: Arc::clone(store),
        leadership: Arc::clone(&leadership),
        clock,
        retention: options.retention,
    };
    let intake = Intake {
        room: IntakeRoom::new(Arc::clone(&health), Arc::clone(&view), options.max_open),
        receivers: ReceiverChoice {
            directory: Arc::clone(&directory),
            message_ids,
            settings: Arc::clone(&settings),
        },
        cluster: cluster.clone(),
        leadership: Arc::clone(&leadership),
        payloads: Arc::clone(&payloads),
        inbox: inbox.clone(),
        instruments,
        clock,
    };
    let mover = Arc::new(ShardMover {
        store: Arc::clone(store),
        cluster: cluster.clone(),
        leadership: Arc::clone(&leadership),
        settings: Arc::clone(&settings),
        directory: Arc::clone(&directory),
        inbox: inbox.clone(),
        clock,
    });
    let work = Arc::new(Work::new(
        CommandExecutor {
            store: Arc::clone(store),
            cluster: cluster.clone(),
            settings: Arc::clone(&settings),
            directory: Arc::clone(&directory),
            inbox: inbox.clone(),
        },
        Arc::clone(&leadership),
        Arc::clone(&payloads),
        (Arc::clone(&health), options.max_open),
    ));
    let fleet = Arc::new(FleetLinks {
        cluster: cluster.clone(),
        leadership: Arc::clone(&leadership),
        settings: Arc::clone(&settings),
        view: Arc::clone(&view),
        mover,
        work,
        notifications,
        lost,
        health: Arc::clone(&health),
        inbox: inbox.clone(),
        clock,
        name: options.name(),
        lease: options.lease,
    });
    NodeParts {
        settings_writer: SettingsWriter {
            cluster: cluster.clone(),
            settings: Arc::clone(&settings),
            directory: Arc::clone(&directory),
            sender: sender.clone(),
            clock,
            turn: Arc::default(),
        },
        endpoint_control: EndpointControl {
            store: Arc::clone(store),
            cluster: cluster.clone(),
            leadership: Arc::clone(&leadership),
            health: Arc::clone(&health),
            inbox: inbox.clone(),
            clock,
        },
        replayer: Replayer {
            store: Arc::clone(store),
            cluster: cluster.clone(),
            health: Arc::clone(&health),
            leadership: Arc::clone(&leadership),
            inbox: inbox.clone(),
            clock,
            max_open: options.max_open,
        },
        status: NodeStatus {
            store: Arc::clone(store),
            cluster,
            directory: Arc::clone(&directory),
            leadership,
            fleet: view,
            payloads,
            rates,
            health: Arc::clone(&health),
            inbox,
            clock,
            max_open: options.max_open,
        },
        directory,
        health,
        settings,
        intake,
        runner,
        settler,
        pruner,
        fleet,
    }
}
