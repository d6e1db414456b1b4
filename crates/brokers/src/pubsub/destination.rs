//! A topic as a destination.

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use stagger::ConfigError;
use stagger_scheduler::model::{AttemptFailure, Endpoint, EndpointAuth, PubSubDestination};
use stagger_sender::{
    BrokerDestination, DestinationReply, GuardedNetwork, HttpAddress, Outgoing, SendFailure,
    Written,
};

use super::client::call;

/// Largest message with its attributes, in bytes, and longest value of an attribute and ordering key.
const MAX_MESSAGE: usize = 10_000_000;
const MAX_VALUE: usize = 1024;

/// One topic.
#[derive(Debug)]
pub(crate) struct PubSubPublisher {
    address: HttpAddress,
    url: String,
    ordering_key: Option<String>,
}

impl PubSubPublisher {
    /// # Errors
    /// `destination`, `endpoint.url` or `auth` with the bound it breaks.
    pub(crate) fn new(
        network: &GuardedNetwork,
        endpoint: &Endpoint,
        settings: &PubSubDestination,
    ) -> Result<Self, ConfigError> {
        if let Some(auth @ (EndpointAuth::Aws(_) | EndpointAuth::Nkey(_))) = &endpoint.auth {
            let bound = "bearer, oauth2, basic or mtls for Pub/Sub";
            return Err(ConfigError::new("auth", auth.kind(), bound));
        }
        let address = network.http_address(endpoint)?;
        if !address.path().contains("/topics/") || !address.path().ends_with(":publish") {
            let bound = "the address of a topic's method, such as \
                         https://pubsub.googleapis.com/v1/projects/shop/topics/orders:publish";
            return Err(ConfigError::new("endpoint.url", &endpoint.url, bound));
        }
        let PubSubDestination { ordering_key } = settings.clone();
        Ok(Self { address, url: endpoint.url.clone(), ordering_key })
    }

    fn body(&self, outgoing: &Outgoing<'_>) -> Result<Value, SendFailure> {
        let unbuildable = |why: String| SendFailure::new(AttemptFailure::Unbuildable, why);
        let headers = outgoing.headers()?;
        let size = outgoing.payload().len()
            + headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        if size > MAX_MESSAGE {
            return Err(unbuildable(format!(
                "{size} bytes with attributes; a topic takes at most {MAX_MESSAGE}"
            )));
        }
        if let Some((name, _)) = headers.iter().find(|(_, value)| value.len() > MAX_VALUE) {
            return Err(unbuildable(format!(
                "{name} is longer than the {MAX_VALUE} bytes of an attribute"
            )));
        }
        let attributes: Map<_, _> =
            headers.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        let mut message =
            json!({ "data": STANDARD.encode(outgoing.payload()), "attributes": attributes });
        if let Some(key) = &self.ordering_key {
            let key = outgoing.fill(key);
            if key.len() > MAX_VALUE {
                return Err(unbuildable(format!(
                    "an ordering key of {} bytes is too long",
                    key.len()
                )));
            }
            message["orderingKey"] = json!(key);
        }
        Ok(json!({ "messages": [message] }))
    }
}

#[async_trait]
impl BrokerDestination for PubSubPublisher {
    fn check(&self, network: &GuardedNetwork) -> Result<(), ConfigError> {
        network.check_http(&self.url)
    }

    async fn attempt(
        &self,
        network: &GuardedNetwork,
        outgoing: &Outgoing<'_>,
        written: &Written,
    ) -> Result<DestinationReply, SendFailure> {
        let body = self.body(outgoing)?;
        let to = (&self.address, outgoing.application());
        call(network, to, (&body, None), written).await
    }
}
