//! Operators and API keys: their names, roles and scopes, and the one table of what each role and scope may do.

mod api_key;
mod list;
mod operator;
mod operator_file;
mod portal;
mod portal_rules;
mod role;
mod role_map;
mod rules;
mod scope;

pub(crate) use api_key::{ApiKey, ApiKeySecret};
pub(crate) use operator::{Operator, Staff};
pub use operator_file::OperatorFile;
pub(crate) use operator_file::SeenOperator;
pub(crate) use portal::{Capability, PortalGrant, Refusal, TokenKind};
pub(crate) use portal_rules::capability_for;
pub use role::{NoRole, Role};
pub use role_map::{NoRoleMap, RoleMap};
pub(crate) use rules::{Rule, rule};
pub(crate) use scope::Scope;
