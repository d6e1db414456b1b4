//! gRPC's service config: its retry, hedging and throttling parts as policies.
//!
//! The JSON is that of gRFC A6 and grpc/doc/service_config.md. [`ServiceConfig`] is deserialised by
//! whatever reads JSON, checked as a whole, and then asked by method path. The sum of one method is
//! a [`MethodPolicy`]: a [`Policy`](crate::Policy) and the codes that are retried.
//!
//! Fields that are not ours (`loadBalancingConfig`, `waitForReady` and those to come) are ignored at
//! every level, inside `retryPolicy` too: doc/service_config.md says that new fields may be added,
//! and grpc-go, grpc-node and the C core all read past what they do not know.
//!
//! ```
//! use stagger_core::Span;
//! use stagger_core::classify::Code;
//! use stagger_core::service_config::ServiceConfig;
//! let config: ServiceConfig = serde_json::from_str(r#"{
//!     "methodConfig": [{
//!         "name": [{ "service": "store.Orders" }],
//!         "timeout": "30s",
//!         "retryPolicy": {
//!             "maxAttempts": 4,
//!             "initialBackoff": "0.1s",
//!             "maxBackoff": "5s",
//!             "backoffMultiplier": 2,
//!             "retryableStatusCodes": ["UNAVAILABLE"]
//!         }
//!     }],
//!     "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 }
//! }"#)?;
//! let method = config.method("/store.Orders/Get").expect("the service has an entry");
//! assert_eq!(method.policy().backoff().ceiling(2), Span::from_millis(200));
//! assert_eq!(method.policy().limits().max_attempts(), Some(4));
//! assert!(method.classify(Code::Unavailable).verdict.is_retryable());
//! assert!(config.method("/store.Carts/Get").is_none());
//! # Ok::<(), serde_json::Error>(())
//! ```

mod codes;
mod duration;
mod hedging_policy;
mod method;
mod retry_policy;
mod service;
mod throttling;

pub use hedging_policy::HedgingPolicy;
pub use method::MethodPolicy;
pub use retry_policy::RetryPolicy;
pub use service::ServiceConfig;
pub use throttling::RetryThrottling;
