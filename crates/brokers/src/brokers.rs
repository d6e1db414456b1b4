//! The brokers that this build can publish to.

use std::sync::Arc;

use stagger::ConfigError;
use stagger_scheduler::model::{Endpoint, EndpointDestination};
use stagger_sender::{Destination, Destinations, Sender};

/// The brokers whose features this build has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brokers;

impl Destinations for Brokers {
    fn prepare(
        &self,
        sender: &Sender,
        endpoint: &Endpoint,
        destination: &EndpointDestination,
    ) -> Result<Arc<dyn Destination>, ConfigError> {
        _ = (sender, endpoint);
        match destination {
            #[cfg(feature = "nats")]
            EndpointDestination::Nats(settings) => {
                Ok(Arc::new(crate::nats::NatsPublisher::new(sender, endpoint, settings)?))
            }
            other => {
                let kind = other.kind();
                let bound = format!("a broker of this build; build stagger with --features {kind}");
                Err(ConfigError::new("destination.type", kind, bound))
            }
        }
    }
}
