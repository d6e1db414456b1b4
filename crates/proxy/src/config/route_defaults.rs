//! The budget and the breaker of a route whose settings name none. A proxy carries the calls of many programs, so both
//! are tighter than the library's, which serve one program.

use stagger::breaker::BreakerPlan;
use stagger::budget::{BudgetPlan, WindowPlan};
use stagger::{ConfigError, Ratio, Span};

/// The share of first attempts that may be retried. A server with a third of its capacity to spare works off a backlog
/// in a tenth more time; with a share of 10 % it would need a quarter more.
const SHARE: Ratio = Ratio::from_percent(5);

/// The time whose earnings the budget holds. A stalled server gets them all at once and works on them before it
/// recovers, so it is the shortest window that a budget may have.
const WINDOW: Span = Span::from_secs(1);

/// The time whose calls a breaker judges. With 10 s, an outage fails calls for 5 s before they are half of all.
const JUDGED: Span = Span::from_secs(2);

/// The first time for which a breaker keeps calls away: long enough for a server to work off a second of calls.
const OPEN_TIME: Span = Span::from_secs(1);

/// The longest such time: a server that is back after hours is found within 15 s, for one probe in 10 s.
const LONGEST_OPEN: Span = Span::from_secs(10);

/// 5 % of the first attempts of the last second, and the floor of the library's default: a retry in 20 s, with those of
/// one call in hand. So a route with one call a minute retries all of them.
pub(super) fn budget() -> BudgetPlan {
    let plan = WindowPlan::new(SHARE).and_then(|plan| plan.with_window(WINDOW));
    // OK because both constants are within their bounds.
    plan.unwrap_or_default().into()
}

/// Opens when half of at least 20 attempts in 2 s failed, for 1 s at first and for 10 s at most.
///
/// # Errors
/// None: all constants are within their bounds.
pub(super) fn breaker() -> Result<BreakerPlan, ConfigError> {
    complete(BreakerPlan::default(), |_| false)
}

/// The plan of a text with the window and the open times of routes, where the text sets none.
///
/// # Errors
/// None: all constants are within their bounds, and fit what else a text may set.
pub(super) fn complete(
    plan: BreakerPlan,
    sets: impl Fn(&str) -> bool,
) -> Result<BreakerPlan, ConfigError> {
    let mut builder = plan.to_builder();
    if !sets("window") {
        builder = builder.window(JUDGED);
    }
    // Each of both bounds the other one.
    if !sets("open_time") && !sets("open_cap") {
        builder = builder.open_time(OPEN_TIME).open_cap(LONGEST_OPEN);
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use stagger::engine::budget::{Budget, Charge};
    use stagger::{Instant, Policy};

    use super::*;

    #[test]
    fn a_route_of_rare_calls_was_never_allowed_a_retry() {
        let policy = Policy::builder().budget(budget()).build().unwrap();
        let mut budget = Budget::new(*policy.budget());
        for minute in 0..60 {
            let now = Instant::ORIGIN + Span::from_secs(60 * minute);
            budget.on_first(now);
            let retries = (0..5).filter(|_| budget.ask(now, Charge::Retry).is_some()).count();
            assert_eq!(retries, 2, "in minute {minute}: the retries of one call");
        }
    }

    #[test]
    fn a_total_outage_had_more_than_a_twentieth_of_retries() {
        let policy = Policy::builder().budget(budget()).build().unwrap();
        let mut budget = Budget::new(*policy.budget());
        let mut granted = 0;
        for call in 0..20_000_u64 {
            let now = Instant::ORIGIN + Span::from_millis(5 * call);
            budget.on_first(now);
            granted += usize::from(budget.ask(now, Charge::Retry).is_some());
        }
        assert!((1_000..=1_010).contains(&granted), "{granted} retries of 20000 calls in 100 s");
    }

    #[test]
    fn a_breaker_of_a_text_lost_what_the_text_sets() {
        assert_eq!(breaker().unwrap().open_time(), OPEN_TIME);
        let long = Span::from_secs(60);
        let text = BreakerPlan::builder().open_time(long).consecutive(3).build().unwrap();
        let plan = complete(text, |key| key == "open_time").unwrap();
        assert_eq!((plan.open_time(), plan.open_cap(), plan.consecutive()), (long, long, Some(3)));
        assert_eq!(plan.window(), JUDGED.into());
    }
}
