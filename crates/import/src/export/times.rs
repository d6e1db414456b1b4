//! Lengths of time and counts as the products read them.

use stagger_core::budget::{BudgetPlan, WindowPlan};
use stagger_core::{Policy, Span};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;

/// Retries of a policy; without a limit as many as a count can hold.
pub(super) fn retries(policy: &Policy) -> u32 {
    policy.limits().max_attempts().map_or(u32::MAX, |attempts| attempts) - 1
}

/// The window of a budget.
pub(super) const fn window(policy: &Policy) -> Option<WindowPlan> {
    match policy.budget() {
        BudgetPlan::Window(plan) => Some(*plan),
        _ => None,
    }
}

/// Seconds as protobuf writes them: `0.025s`.
pub(super) fn protobuf(span: Span) -> String {
    let (whole, rest) = (span.as_nanos() / SECOND, span.as_nanos() % SECOND);
    if rest == 0 {
        return format!("{whole}s");
    }
    let digits = format!("{rest:09}");
    format!("{whole}.{}s", digits.trim_end_matches('0'))
}

/// Whole milliseconds or seconds, rounded up: `25ms`, `2s`. Kubernetes and Spring read both.
pub(super) fn millis(span: Span) -> String {
    let millis = span.as_nanos().div_ceil(MILLI);
    if millis.is_multiple_of(1_000) {
        format!("{}s", millis / 1_000)
    } else {
        format!("{millis}ms")
    }
}

/// Whole seconds, rounded up and at least one.
pub(super) fn seconds(span: Span) -> u64 {
    span.as_secs_ceil().max(1)
}

/// .NET's `TimeSpan` to the ten-millionth of a second, rounded up: `00:00:00.5000000`.
pub(super) fn timespan(span: Span) -> String {
    let ticks = span.as_nanos().div_ceil(100);
    let (seconds, part) = (ticks / 10_000_000, ticks % 10_000_000);
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let days = if days > 0 { format!("{days}.") } else { String::new() };
    let part = if part > 0 { format!(".{part:07}") } else { String::new() };
    format!("{days}{hours:02}:{minutes:02}:{seconds:02}{part}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans;

    #[test]
    fn every_length_is_read_as_it_was_written() {
        for millis in [1, 25, 1_000, 1_500, 60_000, 90_061_001] {
            let span = Span::from_millis(millis);
            assert_eq!(spans::protobuf(&protobuf(span)), Some(span));
            assert_eq!(spans::go(&self::millis(span)), Some(span));
            assert_eq!(spans::spring(&self::millis(span)), Some(span));
            assert_eq!(spans::timespan(&timespan(span)), Some(span));
        }
        assert_eq!(protobuf(Span::from_nanos(1)), "0.000000001s");
    }
}
