//! One entry of `methodConfig`, and the policy that it comes to.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::duration::duration;
use super::{HedgingPolicy, RetryPolicy};
use crate::budget::BudgetPlan;
use crate::classify::{Code, CodeSet, classify_grpc};
use crate::error::ConfigError;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::time::Span;

/// The retry or hedging settings of one method.
///
/// The method's `timeout` is the policy's deadline. A method with neither `retryPolicy` nor
/// `hedgingPolicy` gets one attempt. Listing a code says that such calls may be repeated, so they start
/// with [`Call::idempotent`](crate::retry::Call::idempotent). Without `retryThrottling` the budget is unlimited, as in gRPC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodPolicy {
    policy: Policy,
    codes: CodeSet,
}

impl MethodPolicy {
    /// Limits, delays, budget and hedging.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The codes that are retried, or after which the other copies go on.
    #[must_use]
    pub const fn codes(&self) -> CodeSet {
        self.codes
    }

    /// The meaning of a status for this method.
    #[must_use]
    pub fn classify(&self, code: Code) -> Outcome {
        classify_grpc(code, Some(self.codes))
    }
}

/// An entry of `methodConfig`, checked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "MethodText")]
pub(super) struct Method {
    pub(super) names: Vec<MethodName>,
    timeout: Option<Span>,
    rule: MethodRule,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum MethodRule {
    Once,
    Retry(RetryPolicy),
    Hedge(HedgingPolicy),
}

impl Method {
    /// The entry as a policy of at most `limit` attempts.
    pub(super) fn policy(
        &self,
        limit: u32,
        budget: BudgetPlan,
    ) -> Result<MethodPolicy, ConfigError> {
        let mut builder = Policy::builder().budget(budget);
        if let Some(timeout) = self.timeout {
            builder = builder.deadline(timeout);
        }
        let codes = match &self.rule {
            MethodRule::Once => {
                builder = builder.max_attempts(1);
                CodeSet::EMPTY
            }
            MethodRule::Retry(retry) => {
                let attempts = retry.max_attempts().min(limit);
                builder = builder.backoff(*retry.backoff()).max_attempts(attempts);
                retry.codes()
            }
            MethodRule::Hedge(hedging) => {
                let plan = hedging.plan(limit)?;
                builder = builder.max_attempts(plan.copies()).hedge(plan);
                hedging.codes()
            }
        };
        Ok(MethodPolicy { policy: builder.build()?, codes })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MethodText {
    #[serde(default)]
    name: Vec<MethodName>,
    timeout: Option<String>,
    retry_policy: Option<RetryPolicy>,
    hedging_policy: Option<HedgingPolicy>,
}

impl TryFrom<MethodText> for Method {
    type Error = ConfigError;

    fn try_from(text: MethodText) -> Result<Self, ConfigError> {
        let rule = match (text.retry_policy, text.hedging_policy) {
            (None, None) => MethodRule::Once,
            (Some(retry), None) => MethodRule::Retry(retry),
            (None, Some(hedging)) => MethodRule::Hedge(hedging),
            (Some(_), Some(_)) => {
                let bound = "left out when retryPolicy is given";
                return Err(ConfigError::new("methodConfig.hedgingPolicy", "given", bound));
            }
        };
        let timeout = text.timeout.map(|text| duration("methodConfig.timeout", &text));
        let timeout = timeout.transpose()?;
        if timeout.is_some_and(Span::is_zero) {
            return Err(ConfigError::new("methodConfig.timeout", "\"0s\"", "above \"0s\""));
        }
        Ok(Self { names: text.name, timeout, rule })
    }
}

/// The name of the entry that is for everything.
const DEFAULT: &str = "//";

/// The path of an entry: `/service/method`, `/service/` for all of a service, or `//`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "NameText")]
pub(super) struct MethodName(pub(super) String);

/// The names that a path such as `/package.Service/Method` answers to, the closest first: the
/// method, its service, the default (gRPC's service_config.proto).
pub(super) fn names_of(path: &str) -> impl Iterator<Item = &str> {
    let service = path.rfind('/').and_then(|slash| path.get(..=slash));
    [Some(path), service, Some(DEFAULT)].into_iter().flatten()
}

#[derive(Deserialize)]
struct NameText {
    service: Option<String>,
    method: Option<String>,
}

impl TryFrom<NameText> for MethodName {
    type Error = ConfigError;

    /// An empty part, a null and a missing one are the same (service_config.proto).
    fn try_from(text: NameText) -> Result<Self, ConfigError> {
        let service = text.service.unwrap_or_default();
        let method = text.method.unwrap_or_default();
        if service.is_empty() && !method.is_empty() {
            let bound = "left out where the service is";
            return Err(ConfigError::new("methodConfig.name.method", method, bound));
        }
        Ok(Self(alloc::format!("/{service}/{method}")))
    }
}
