//! The kind of a call's attempts: whether those after the first are retries, or copies of one that is slow.

use std::sync::Arc;

use stagger::service_config::ServiceConfig;

use crate::stats::AttemptCopy;

/// The kind of the attempts of a client.
#[derive(Clone, Debug)]
pub(crate) enum AttemptKind {
    /// HTTP, one attempt at a time.
    OneByOne,
    /// HTTP, with copies of slow attempts.
    Hedged,
    /// gRPC.
    Grpc(GrpcCopies),
}

/// The kind of the attempts that follow the first one of a gRPC call (gRFC A96 tells both apart by the policy).
#[derive(Clone, Debug)]
pub(crate) enum GrpcCopies {
    Retries,
    Hedges,
    /// As the service config has it for the method.
    ByMethod(Arc<ServiceConfig>),
}

impl AttemptKind {
    /// Whether the attempts are of gRPC.
    pub(super) const fn is_grpc(&self) -> bool {
        matches!(self, Self::Grpc(_))
    }

    /// Whether the span of an attempt is for the attempt itself to make: the layer of calls without copies makes it.
    pub(super) const fn makes_span(&self) -> bool {
        !matches!(self, Self::OneByOne)
    }

    /// The kind of the attempt of this number, to this path.
    pub(super) fn copy(&self, number: u32, path: &str) -> AttemptCopy {
        if number <= 1 {
            return AttemptCopy::First;
        }
        let hedges = match self {
            Self::OneByOne | Self::Grpc(GrpcCopies::Retries) => false,
            Self::Hedged | Self::Grpc(GrpcCopies::Hedges) => true,
            Self::Grpc(GrpcCopies::ByMethod(config)) => {
                config.method(path).is_some_and(|method| method.policy().hedge().is_some())
            }
        };
        if hedges { AttemptCopy::Hedge } else { AttemptCopy::Retry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hedges_of_a_service_config_were_counted_as_retries() {
        let config = r#"{ "methodConfig": [
            { "name": [{ "service": "shop.Orders", "method": "Get" }],
              "hedgingPolicy": { "maxAttempts": 2, "hedgingDelay": "0.1s" } },
            { "name": [{ "service": "shop.Orders" }],
              "retryPolicy": { "maxAttempts": 2, "initialBackoff": "0.1s", "maxBackoff": "1s",
                  "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"] } }
        ] }"#;
        let config = Arc::new(serde_json::from_str(config).expect("a service config"));
        let kind = AttemptKind::Grpc(GrpcCopies::ByMethod(config));
        assert_eq!(kind.copy(1, "/shop.Orders/Get"), AttemptCopy::First);
        assert_eq!(kind.copy(2, "/shop.Orders/Get"), AttemptCopy::Hedge);
        assert_eq!(kind.copy(2, "/shop.Orders/Put"), AttemptCopy::Retry);
        assert_eq!(kind.copy(2, "/shop.Carts/Get"), AttemptCopy::Retry);
    }
}
