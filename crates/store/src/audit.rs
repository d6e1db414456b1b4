//! The audit log: the changes that people and programs have made, the newest 10,000 of them.

use stagger::Instant;

/// The most entries that are kept: months of changes by hand. Older ones are deleted.
pub const MOST_AUDITED: u64 = 10_000;

/// One change that an operator or a tenant has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, which rises with time; a new entry gets one from the store.
    pub number: u64,
    /// The time of the change.
    pub at: Instant,
    /// The caller: the admin, or the key of an application.
    pub actor: String,
    /// The operation and its object: a method and a path.
    pub action: String,
    /// The names of the settings that it changed, where it names any.
    pub detail: String,
}
