//! The script that grants a lease, and what goes in and out of it.

use std::sync::LazyLock;

use redis::Script;
use stagger::Span;
use stagger::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger::engine::budget::Charge;

use crate::store::words;

/// `decide` for a whole fleet, in the store's own language.
pub(super) static SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("budget.lua")));

/// The time for which an unused bucket is kept: a day. After that it starts as its plan says.
const BUCKET_KEPT_MS: u64 = 24 * 60 * 60 * 1_000;
/// The time for which the store keeps its answers: an hour, for an answer that was lost in an outage.
const ANSWER_KEPT_MS: u64 = 60 * 60 * 1_000;
/// An interval of 140 years, in microseconds: sums of two and a time stay exact in the script.
const LONGEST_US: u64 = 1 << 52;
/// The longest time to keep a key, in milliseconds: 35 years.
const LONGEST_MS: u64 = 1 << 40;

/// A plan as the script reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BudgetScriptPlan {
    kind: &'static str,
    numbers: Vec<u64>,
    kept_ms: u64,
}

/// One request: numbered, so that the store hears it once however often it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BudgetRequest {
    pub(super) number: u64,
    pub(super) wanted: u64,
    /// Permits of the last lease that come back unused, and its mark.
    pub(super) returned: u64,
    pub(super) mark: u64,
    pub(super) events: BudgetEvents,
}

/// The events since the last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BudgetEvents {
    pub(super) firsts: u64,
    pub(super) first_tries: u64,
    /// The permits of successes after a retry with a leased one.
    pub(super) after_retry: u64,
    pub(super) failed: u64,
}

/// The answer of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BudgetAnswer {
    pub(super) granted: u64,
    /// The place where the store noted the grant.
    pub(super) mark: u64,
    /// The level of the fleet's budget: retries, held, capacity.
    pub(super) level: [u64; 3],
}

impl BudgetScriptPlan {
    /// The rule of `plan`; `None` where there is nothing to share.
    pub(super) fn of(plan: &BudgetPlan) -> Option<Self> {
        let (kind, numbers, kept_ms) = match plan {
            BudgetPlan::Window(plan) => {
                let added = u64::from(matches!(plan.floor(), FloorRate::Add(_)));
                let ratio = u64::from(plan.ratio().ppm());
                let (slot, window) = (micros(plan.slot()), micros(plan.window()));
                let rule = [slot, window, ratio, plan.reserve(), plan.slot_floor(), added];
                ("window", rule.to_vec(), window_kept_ms(plan))
            }
            BudgetPlan::Tokens(plan) => {
                let retry = plan.cost(Charge::Retry);
                let numbers = [plan.capacity(), plan.initial(), retry, plan.first_try()];
                ("tokens", numbers.map(u64::from).to_vec(), BUCKET_KEPT_MS)
            }
            BudgetPlan::Throttle(plan) => {
                let credit = plan.token_ratio().ppm() / 1_000;
                let numbers = [plan.max_tokens() * 1_000, credit];
                ("throttle", numbers.map(u64::from).to_vec(), BUCKET_KEPT_MS)
            }
            BudgetPlan::Interval(plan) => {
                let interval = micros(plan.interval()).min(LONGEST_US);
                let kept = millis(plan.interval()).saturating_mul(2);
                ("interval", vec![u64::from(plan.retries()), interval], kept)
            }
            _ => return None,
        };
        Some(Self { kind, numbers, kept_ms: kept_ms.min(LONGEST_MS) })
    }

    /// The keys of a budget and of one of its processes, in one slot of a cluster. Plans whose states
    /// differ never read each other's: while a fleet moves from one to the next, each has its own.
    pub(super) fn keys(&self, prefix: &str, name: &str, process: u128) -> [String; 2] {
        let shape = match self.kind {
            "window" | "interval" => format!("{}:{}", self.kind, self.numbers[0]),
            kind => kind.to_owned(),
        };
        let fleet = format!("{{{prefix}:{name}}}:{shape}");
        let process = format!("{fleet}:{process:032x}");
        [fleet, process]
    }

    /// The script's arguments, the test's clock left out.
    pub(super) fn arguments(&self, request: &BudgetRequest) -> [String; 4] {
        let BudgetRequest { number, wanted, returned, mark, events } = *request;
        let BudgetEvents { firsts, first_tries, after_retry, failed } = events;
        let request = [number, wanted, returned, mark, firsts, first_tries, after_retry, failed];
        let kept = [self.kept_ms, ANSWER_KEPT_MS];
        [self.kind.to_owned(), words(&self.numbers), words(&request), words(&kept)]
    }
}

impl BudgetAnswer {
    /// The answer of these numbers.
    pub(super) const fn of([granted, mark, retries, held, capacity]: [u64; 5]) -> Self {
        Self { granted, mark, level: [retries, held, capacity] }
    }
}

/// Until all first attempts have left the window and the floor has earned what a burst took: a key that is forgotten
/// earlier would grant the burst again.
fn window_kept_ms(plan: &WindowPlan) -> u64 {
    let slots = plan.reserve().checked_div(plan.slot_floor());
    let earned = match slots {
        Some(slots) => millis(plan.slot()).saturating_mul(slots.saturating_add(1)),
        None if plan.reserve() == 0 => 0,
        // Only first attempts earn, and there are none.
        None => BUCKET_KEPT_MS,
    };
    millis(plan.window()).saturating_mul(2).max(earned)
}

/// Rounded up: a window or an interval that is a little longer never grants more.
fn micros(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000)
}

fn millis(span: Span) -> u64 {
    span.as_nanos().div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use stagger::{Rate, Ratio};

    use super::*;

    #[test]
    fn a_rare_caller_had_its_burst_again_after_two_windows() {
        let plan = WindowPlan::new(Ratio::from_percent(5)).unwrap();
        let short = plan.with_window(Span::from_secs(1)).unwrap();
        assert!(window_kept_ms(&short) >= 40_000, "two retries at one in 20 s");
        let minute = plan.with_window(Span::from_secs(60)).unwrap();
        assert!(window_kept_ms(&minute) >= 120_000);
        let bare = plan.with_floor(FloorRate::Add(Rate::ZERO));
        assert_eq!(window_kept_ms(&bare), 20_000, "nothing but the share of 10 s");
        let burst = bare.with_burst(3).unwrap();
        assert_eq!(window_kept_ms(&burst), BUCKET_KEPT_MS, "no time earns it");
    }
}
