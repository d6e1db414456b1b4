//! A tier of servers behind a balancer, which chooses a server for every attempt.

use stagger_core::{Ratio, Span};

/// The balancer before a tier of servers; one for all callers, which hears every answer and every
/// timeout.
///
/// ```
/// use stagger_core::{Instant, Span};
/// use stagger_sim::{
///     ArrivalProcess, Backend, Balancer, Fault, Law, Routing, RunPlan, Schedule, Simulation, Trouble,
/// };
/// let caller = Law::Fixed.caller(&Schedule { attempts: 2, ..Schedule::default() })?;
/// let calls = ArrivalProcess::Even { callers: 100, spacing: Span::from_millis(1) };
/// let mut plan = RunPlan::new(calls, caller);
/// plan.backend = Backend { shards: 4, balancer: Some(Balancer::new(Routing::RoundRobin)), ..plan.backend };
/// plan.faults.push(Fault::new(Trouble::PortClosed, Instant::ORIGIN, Instant::FAR).in_shard(2));
/// // One attempt in four meets the dead server, and is made again.
/// let played = Simulation::new().play(&plan, 1);
/// assert!(played.succeeded > 90 && played.attempts.total > 120);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balancer {
    /// The rule by which a server is chosen.
    pub routing: Routing,
    /// Whether a retry avoids the server of the attempt before it, where there is another one.
    pub retry_elsewhere: bool,
    /// The rule by which servers that fail are left out for a while; none when `None`.
    pub ejection: Option<Ejection>,
}

/// The rule by which a balancer chooses a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// One after the other.
    #[default]
    RoundRobin,
    /// Any of them, with equal probability.
    Random,
    /// The one with the fewest attempts under way; of several, one after the other.
    LeastRequests,
    /// The one with fewer attempts under way of two drawn at random (Mitzenmacher, IEEE TPDS 12(10), 2001).
    TwoChoices,
}

/// The rule by which a balancer leaves servers out that fail, as Envoy's outlier detection does.
///
/// A 503, a refused connection, silence and a timeout of the caller are failures; a 429 and a 403 are
/// answers of a server that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// Failures in a row after which a server is left out. At least 1.
    pub failures: u32,
    /// The time for which it is left out.
    pub lasts: Span,
    /// The share of servers that may be out at the same time; one may be at least.
    pub most: Ratio,
}

impl Balancer {
    /// A balancer by this rule, which forgets failures.
    #[must_use]
    pub const fn new(routing: Routing) -> Self {
        Self { routing, retry_elsewhere: false, ejection: None }
    }
}
