//! The whole service config, and which entry a method gets.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::method::Method;
use super::method::names_of;
use super::{MethodPolicy, RetryThrottling};
use crate::budget::{BudgetPlan, ThrottlePlan};
use crate::error::ConfigError;

/// gRFC A6: what clients cap `maxAttempts` at when nobody says otherwise.
const DEFAULT_LIMIT: u32 = 5;

/// The retry, hedging and throttling parts of a gRPC service config.
///
/// ```
/// use stagger_core::service_config::ServiceConfig;
/// let config: ServiceConfig = serde_json::from_str(r#"{
///     "methodConfig": [{ "name": [{}], "hedgingPolicy": { "maxAttempts": 9 } }]
/// }"#)?;
/// let method = config.method("/store.Orders/Get").expect("the default entry");
/// assert_eq!(method.policy().hedge().map(|plan| plan.copies()), Some(5));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ServiceText")]
pub struct ServiceConfig {
    methods: Vec<Method>,
    throttling: Option<RetryThrottling>,
    /// The entries as policies by their names, under the client's limit of the moment.
    policies: BTreeMap<String, MethodPolicy>,
}

impl ServiceConfig {
    /// The same config under the client's own limit on attempts, default 5.
    ///
    /// The service's `maxAttempts` and the limit both hold. A limit below 2 means the default, as in
    /// grpc-go. Copies of a hedged call are never more than 5.
    ///
    /// # Errors
    /// None today: every entry was checked when it was read. The type leaves room for checks to come.
    pub fn with_max_attempts(self, limit: u32) -> Result<Self, ConfigError> {
        let limit = if limit < 2 { DEFAULT_LIMIT } else { limit };
        Self::new(self.methods, self.throttling, limit)
    }

    /// The policy of a method, by its path such as `/package.Service/Method`: that of the entry
    /// that names the method, or else its service, or else everything; `None` without such an entry.
    #[must_use]
    pub fn method(&self, path: &str) -> Option<&MethodPolicy> {
        names_of(path).find_map(|name| self.policies.get(name))
    }

    /// The budget that all methods share, if the service throttles retries.
    #[must_use]
    pub fn throttling(&self) -> Option<ThrottlePlan> {
        self.throttling.map(|throttling| throttling.plan())
    }

    fn new(
        methods: Vec<Method>,
        throttling: Option<RetryThrottling>,
        limit: u32,
    ) -> Result<Self, ConfigError> {
        let budget = throttling.map_or(BudgetPlan::Unlimited, |given| given.plan().into());
        let mut policies = BTreeMap::new();
        for method in &methods {
            let policy = method.policy(limit, budget)?;
            for name in &method.names {
                if policies.insert(name.0.clone(), policy).is_some() {
                    let bound = "named by one entry only";
                    return Err(ConfigError::new("methodConfig.name", &name.0, bound));
                }
            }
        }
        Ok(Self { methods, throttling, policies })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServiceText {
    #[serde(default)]
    method_config: Vec<Method>,
    retry_throttling: Option<RetryThrottling>,
}

impl TryFrom<ServiceText> for ServiceConfig {
    type Error = ConfigError;

    fn try_from(text: ServiceText) -> Result<Self, ConfigError> {
        Self::new(text.method_config, text.retry_throttling, DEFAULT_LIMIT)
    }
}
