//! The script that keeps a fleet's breaker, and what goes in and out of it.

use std::sync::LazyLock;

use redis::Script;
use stagger::Span;
use stagger::breaker::BreakerPlan;

use crate::store::words;

/// The engine's breaker for a whole fleet, in the store's own language.
pub(super) static SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("breaker.lua")));

/// The time for which an unused breaker is kept besides its own times: a day. Then it is closed.
const KEPT_MS: u64 = 24 * 60 * 60 * 1_000;
/// The longest time that the script gets, in microseconds: 35 years, so that its sums are exact.
const LONGEST_US: u64 = 1 << 50;

/// A plan as the script reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BreakerScriptPlan {
    numbers: [u64; 6],
    kept_ms: u64,
}

/// Names a state of the breaker in the store: it rises with every move, and after a loss of the store's data
/// it starts above all that were.
pub(super) type Epoch = u64;

/// Names one probe in the whole fleet.
pub(super) type Token = u64;

/// Why the fleet's breaker should open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// A rule of the plan is broken here.
    Trip,
    /// It was open as this process knows it: for so long yet, and with this open time.
    Remembered { left: Span, open_time: Span },
}

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeResult {
    /// It was not made, or says nothing.
    Nothing,
    Good,
    Bad,
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BreakerRequest {
    /// The state that the process knows: its results and its trip belong to it.
    pub(super) epoch: Epoch,
    pub(super) results: Vec<(Token, ProbeResult)>,
    pub(super) opening: Option<Opening>,
    /// The probe that it wants to make.
    pub(super) wanted_probe: Option<Token>,
    /// The stretch of the open time, should it open: millionths of the longest stretch.
    pub(super) spread_ppm: u32,
}

/// The state of the fleet's breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FleetState {
    Closed,
    /// For so long yet.
    Open(Span),
    HalfOpen,
    Ramp(Span),
}

/// The answer of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BreakerAnswer {
    pub(super) epoch: Epoch,
    pub(super) state: FleetState,
    pub(super) open_time: Span,
    /// The lease of the wanted probe, counted from the request; `None` when it is not granted.
    pub(super) lease: Option<Span>,
}

impl BreakerScriptPlan {
    pub(super) fn of(plan: &BreakerPlan) -> Self {
        let lease = plan.lease().map_or(0, micros);
        let ramp = plan.ramp().map_or(0, |(_, over)| micros(over));
        let (open_time, cap) = (micros(plan.open_time()), micros(plan.open_cap()));
        let factor = u64::from(plan.open_factor().ppm());
        let longest = open_time.max(cap).max(lease).max(ramp);
        Self {
            numbers: [open_time, cap, lease, ramp, factor, u64::from(plan.probes())],
            kept_ms: KEPT_MS + 2 * longest.div_ceil(1_000),
        }
    }

    /// The script's arguments, the test's clock left out.
    pub(super) fn arguments(&self, request: &BreakerRequest) -> [String; 4] {
        let BreakerRequest { epoch, results, opening, wanted_probe, spread_ppm } = request;
        let opening = match *opening {
            None => [0, 0, 0],
            Some(Opening::Trip) => [1, 0, 0],
            Some(Opening::Remembered { left, open_time }) => [2, micros(left), micros(open_time)],
        };
        let [kind, left, open_time] = opening;
        let (wanted_probe, spread) = (wanted_probe.unwrap_or(0), u64::from(*spread_ppm));
        let ask = [*epoch, kind, left, open_time, wanted_probe, spread];
        let results: Vec<_> =
            results.iter().flat_map(|&(token, result)| [token, result.number()]).collect();
        [words(&self.numbers), words(&ask), words(&results), self.kept_ms.to_string()]
    }
}

impl BreakerRequest {
    /// Whether it may move the breaker.
    pub(super) fn may_move_breaker(&self) -> bool {
        let says_something = |&(_, result): &(Token, ProbeResult)| result != ProbeResult::Nothing;
        self.opening.is_some() || self.results.iter().any(says_something)
    }
}

impl ProbeResult {
    const fn number(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Good => 1,
            Self::Bad => 2,
        }
    }
}

impl BreakerAnswer {
    /// The answer of these numbers.
    pub(super) const fn of([epoch, kind, left, open_time, lease]: [u64; 5]) -> Self {
        let left = Span::from_micros(left);
        let state = match kind {
            1 => FleetState::Open(left),
            2 => FleetState::HalfOpen,
            3 => FleetState::Ramp(left),
            _ => FleetState::Closed,
        };
        let lease = if lease == 0 { None } else { Some(Span::from_micros(lease)) };
        Self { epoch, state, open_time: Span::from_micros(open_time), lease }
    }
}

/// The key of the breaker of this name, beside its budget in a cluster.
pub(super) fn key(prefix: &str, name: &str) -> String {
    format!("{{{prefix}:{name}}}:breaker")
}

/// Rounded up: an open time is never shortened.
fn micros(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000).min(LONGEST_US)
}
