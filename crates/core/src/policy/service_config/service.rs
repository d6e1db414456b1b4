//! The whole service config, and which entry a method gets.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;

use serde::Deserialize;

use super::method::Method;
use super::name::Name;
use super::{MethodPolicy, RetryThrottling};
use crate::budget::{BudgetPlan, ThrottlePlan};
use crate::error::ConfigError;

/// gRFC A6: what clients cap `maxAttempts` at when nobody says otherwise.
const DEFAULT_LIMIT: u32 = 5;

/// The retry, hedging and throttling parts of a gRPC service config.
///
/// See the [module](self) for an example.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ServiceText")]
pub struct ServiceConfig {
    methods: Vec<Method>,
    throttling: Option<RetryThrottling>,
    /// The methods as policies, under the client's limit of the moment.
    policies: BTreeMap<Name, MethodPolicy>,
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
        Name::of(path).iter().find_map(|name| self.policies.get(name))
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
                if policies.insert(name.clone(), policy).is_some() {
                    let bound = "named by one entry only";
                    return Err(ConfigError::new("methodConfig.name", name.to_string(), bound));
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
