//! The brokers that this build can publish to.

use std::sync::Arc;

use stagger::ConfigError;
use stagger_scheduler::model::{Endpoint, EndpointDestination};
use stagger_sender::{BrokerDestination, Destinations, GuardedNetwork};

/// The brokers whose features this build has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brokers;

impl Destinations for Brokers {
    fn prepare(
        &self,
        network: &GuardedNetwork,
        endpoint: &Endpoint,
        destination: &EndpointDestination,
    ) -> Result<Arc<dyn BrokerDestination>, ConfigError> {
        _ = (network, endpoint);
        match destination {
            #[cfg(feature = "nats")]
            EndpointDestination::Nats(settings) => {
                Ok(Arc::new(crate::nats::NatsPublisher::new(network, endpoint, settings)?))
            }
            #[cfg(feature = "kafka")]
            EndpointDestination::Kafka(settings) => {
                Ok(Arc::new(crate::kafka::KafkaPublisher::new(network, endpoint, settings)?))
            }
            #[cfg(feature = "sqs")]
            EndpointDestination::Sqs(settings) => {
                Ok(Arc::new(crate::sqs::SqsPublisher::new(network, endpoint, settings)?))
            }
            #[cfg(feature = "pubsub")]
            EndpointDestination::PubSub(settings) => {
                Ok(Arc::new(crate::pubsub::PubSubPublisher::new(network, endpoint, settings)?))
            }
            #[cfg(not(all(
                feature = "kafka",
                feature = "nats",
                feature = "sqs",
                feature = "pubsub"
            )))]
            other => {
                let kind = other.kind();
                let bound = format!("a broker of this build; build stagger with --features {kind}");
                Err(ConfigError::new("destination.type", kind, bound))
            }
        }
    }
}
