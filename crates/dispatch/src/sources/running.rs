//! The sources of a dispatcher: a task for each.

use std::fmt;
use std::sync::Arc;

use stagger_brokers::Source;
use stagger_sender::GuardedNetwork;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use super::consumer::Consumer;
use crate::Error;
use crate::config::{SourceKind, SourceSettings};
use crate::node::Node;

/// Tasks that consume. They end when this is dropped; messages that were not settled come again.
pub(crate) struct RunningSources {
    tasks: Mutex<JoinSet<()>>,
    stop: watch::Sender<bool>,
}

impl RunningSources {
    /// Starts to consume. A broker that is away is tried again and again.
    ///
    /// # Errors
    /// A setting, or a file that one names.
    pub(crate) fn start(
        node: &Node,
        all: &[SourceSettings],
        max_payload: usize,
    ) -> Result<Self, Error> {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for settings in all {
            let source = open(node.sender().network().clone(), settings)?;
            let (node, settings) = (node.clone(), Arc::new(settings.clone()));
            let stopped = stopped.clone();
            tasks.spawn(Consumer { node, source, settings, max_payload, stopped }.run());
        }
        Ok(Self { tasks: Mutex::new(tasks), stop })
    }

    /// Stops consuming, and waits until the messages that were received are settled.
    pub(crate) async fn stop(&self) {
        self.stop.send_replace(true);
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
    }
}

impl fmt::Debug for RunningSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningSources").finish_non_exhaustive()
    }
}

fn open(network: GuardedNetwork, settings: &SourceSettings) -> Result<Box<dyn Source>, Error> {
    _ = &network;
    match &settings.kind {
        #[cfg(feature = "nats")]
        SourceKind::Nats(nats) => {
            let nats = nats.with_secrets()?;
            Ok(Box::new(stagger_brokers::NatsSource::new(network, nats)?))
        }
        #[cfg(feature = "kafka")]
        SourceKind::Kafka(kafka) => {
            let kafka = kafka.with_secrets()?;
            Ok(Box::new(stagger_brokers::KafkaSource::new(network, kafka)?))
        }
        #[cfg(feature = "sqs")]
        SourceKind::Sqs(sqs) => {
            Ok(Box::new(stagger_brokers::SqsSource::new(network, sqs.clone())?))
        }
        #[cfg(feature = "pubsub")]
        SourceKind::PubSub(settings) => {
            Ok(Box::new(stagger_brokers::PubSubSource::new(network, settings.clone())?))
        }
        SourceKind::Unbuilt(kind) => {
            let bound = format!("a broker of this build; build stagger with --features {kind}");
            Err(Error::invalid("source.type", kind, bound))
        }
    }
}
