//! The longest that a call may take.

use stagger_core::{Policy, Span};

/// Delays that are added one by one; each later one counts as the longest there is.
const ROWS: u32 = 10_000;

/// The longest that a call may take: its waits at their longest and its attempts at their time
/// limit. None when nothing bounds it.
///
/// Hints are left out: how long a server asks callers to stay away is not in the policy. A deadline
/// bounds them too.
pub(crate) fn worst_case(policy: &Policy) -> Option<Span> {
    let limits = policy.limits();
    let (Some(attempts), Some(timeout)) = (limits.max_attempts(), limits.attempt_timeout()) else {
        return limits.deadline();
    };
    let longest = |k| policy.backoff().range(k).1.max(policy.throttled_backoff().range(k).1);
    let retries = attempts - 1;
    let mut sum = timeout.saturating_mul(u64::from(attempts));
    for k in 1..=retries.min(ROWS) {
        sum = sum + longest(k);
    }
    let rest = u64::from(retries.saturating_sub(ROWS));
    sum = sum + longest(u32::MAX).saturating_mul(rest);
    Some(limits.deadline().map_or(sum, |deadline| sum.min(deadline)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stagger_core::Backoff;

    fn policy(deadline: Option<u64>) -> Policy {
        let rule = Backoff::exponential(Span::from_secs(1), Span::from_secs(2)).expect("valid");
        let builder = Policy::builder().backoff(rule).max_attempts(4);
        let builder = builder.attempt_timeout(Span::from_secs(10));
        let builder = match deadline {
            Some(secs) => builder.deadline(Span::from_secs(secs)),
            None => builder,
        };
        builder.build().expect("valid")
    }

    #[test]
    fn waits_and_attempts_add_up_to_the_deadline() {
        assert_eq!(worst_case(&policy(None)), Some(Span::from_secs(40 + 1 + 2 + 2)));
        assert_eq!(worst_case(&policy(Some(45))), Some(Span::from_secs(45)));
        assert_eq!(worst_case(&policy(Some(44))), Some(Span::from_secs(44)));
        assert_eq!(worst_case(&Policy::default()), None);
    }

    #[test]
    fn as_many_attempts_as_can_be_written_are_soon_added() {
        let many = policy(None).to_builder().max_attempts(u32::MAX).build().expect("valid");
        let all = u64::from(u32::MAX);
        assert_eq!(worst_case(&many), Some(Span::from_secs(10 * all + 1 + 2 * (all - 2))));
    }
}
