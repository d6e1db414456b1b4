//! The state of a proxy at one instant, as plain data for metrics and pages.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use stagger::{Instant, LedgerStats, Span};
use stagger_redis::SharedStats;

/// The state of a proxy at one instant.
///
/// Each figure is exact, but they are read one after the other while calls go on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// The time of the ledgers' clock at which it was taken.
    pub at: Instant,
    /// Whether the proxy ends: no connection is accepted any more.
    pub draining: bool,
    /// Connections of clients that are open, tunnels included.
    pub connections: usize,
    /// The most that there may be.
    pub max_connections: usize,
    /// Connections that were closed because all that are allowed were open.
    pub connections_refused: u64,
    /// Requests that no route takes, or that are malformed.
    pub unrouted: u64,
    /// Times that the settings were read again.
    pub reloads: u64,
    /// Times that new settings were refused, so that the old ones stayed.
    pub reloads_refused: u64,
    /// The refusal of the settings that were read last, if they were refused.
    pub reload_fault: Option<String>,
    /// The routes, by their names.
    pub routes: Vec<RouteSnapshot>,
}

/// The state of one route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RouteSnapshot {
    /// Its name.
    pub name: String,
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// Calls in flight, tunnels included.
    pub in_flight: usize,
    /// The most that there may be.
    pub max_in_flight: usize,
    /// Calls that were refused because there were that many.
    pub in_flight_refused: u64,
    /// Bytes of request bodies in memory: kept for another attempt, or on their way to an upstream.
    pub body_bytes: usize,
    /// Its destinations: for tunnels those that are known, which are a bounded number.
    pub destinations: Vec<DestinationSnapshot>,
}

/// The state of one destination of a route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DestinationSnapshot {
    /// Scheme, host and port.
    pub name: String,
    /// Calls that were made or refused.
    pub calls: u64,
    /// Attempts of these calls.
    pub attempts: u64,
    /// Attempts that followed one that failed.
    pub retries: u64,
    /// Attempts that were made beside one that was slow.
    pub hedges: u64,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Attempts that brought no reply.
    pub errors: u64,
    /// Replies to attempts by the first digit of their status, from 1.
    pub replies: [u64; 5],
    /// Calls that ended otherwise, by their stop reasons.
    pub stops: BTreeMap<&'static str, u64>,
    /// Budget, breaker and limits.
    pub ledger: LedgerStats,
    /// The store that the budget is leased from; `None` for a budget of this proxy alone, and for one without limit.
    pub store: Option<StoreSnapshot>,
    /// The time for which a hint of the server keeps calls away, from now on.
    pub cool_off: Span,
}

/// The store of a fleet's budget, as this proxy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreSnapshot {
    /// Whether it answers. While it does not, the proxy has its part of the budget.
    pub up: bool,
    /// Times that it stopped answering.
    pub outages: u64,
    /// Leased permits that are left.
    pub permits: u64,
    /// Permits that it granted.
    pub leased: u64,
    /// Permits that it did not grant.
    pub lease_denied: u64,
    /// Retries and hedges that the proxy granted by itself, because the store did not answer.
    pub local_granted: u64,
}

impl StoreSnapshot {
    /// The store of a ledger with these figures; `None` where the budget has no limit, so that nothing is leased.
    pub(crate) fn of(stats: &SharedStats) -> Option<Self> {
        let limited = stats.ledger.level.retries < u64::MAX;
        limited.then_some(Self {
            up: !stats.store_down,
            outages: stats.store_outages,
            permits: stats.permits,
            leased: stats.leased,
            lease_denied: stats.lease_denied,
            local_granted: stats.local_granted,
        })
    }
}
