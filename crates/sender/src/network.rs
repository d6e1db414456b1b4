//! The network as attempts may use it: every name is resolved and every address judged before it is dialled.

use std::fmt;
use std::sync::Arc;

use crate::address::Ports;
use crate::credentials::CredentialRules;
use crate::dial::Dialer;
use crate::pool::ConnectionPool;

/// Connections through the egress guard, over the egress proxy if there is one. Clones share idle connections.
#[derive(Clone)]
pub struct GuardedNetwork {
    pub(crate) dialer: Dialer,
    pub(crate) ports: Arc<Ports>,
    pub(crate) pool: Arc<ConnectionPool>,
}

impl GuardedNetwork {
    pub(crate) fn credential_rules(&self) -> CredentialRules<'_> {
        CredentialRules { ports: &self.ports, roots: &self.dialer.roots }
    }
}

impl fmt::Debug for GuardedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dialer, ports, pool } = self;
        f.debug_struct("GuardedNetwork")
            .field("guard", &dialer.guard)
            .field("ports", ports)
            .field("pool", pool)
            .finish_non_exhaustive()
    }
}
