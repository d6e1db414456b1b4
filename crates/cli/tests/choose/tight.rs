use stagger::budget::WindowPlan;
use stagger::{Backoff, ConfigError, HintRule, Jitter, LongHint, Policy, Ratio, Span};

/// Chosen by `stagger choose`.
///
/// Answers: idempotent = yes, callers = 9, minimum-wait = 500ms, slo = 4.2s
///
/// Not said, so taken as usual: retryable = yes, rps = unknown, background =
/// no, p99 = unknown, rate-limited = no, layers = 1
///
/// Compare attempt_timeout (350ms) with the p99 of healthy attempts, or answer
/// `p99`. Attempts that are cut off sooner are repeated while the server still
/// works on them; at a high load that alone keeps it overloaded.
///
/// Keep one retrier for each destination and share it: budget and breaker
/// protect only those who share them.
///
/// # Errors
/// None: the settings are constants.
pub fn policy() -> Result<Policy, ConfigError> {
    Policy::builder()
        // backoff.envelope: doubling: a server that is still away is asked ever
        // less often
        // backoff.base: as long as a sixth of the SLO allows (1s without it): 9
        // callers come back at 12/s
        // backoff.cap: the last wait; a sixth of the SLO holds all of them
        // backoff.jitter: downward only and no further than the minimum wait;
        // there is no room for equal jitter
        .backoff(Backoff::exponential(Span::from_millis(700), Span::from_millis(700))?.with_jitter(Jitter::Proportional(Ratio::from_percent(28)))?)
        // limits.max_attempts: as many as a sixth of the SLO holds the waits
        // of; the first one counts (3 without it)
        .max_attempts(2)
        // limits.deadline: the SLO: an answer after it is load without use
        .deadline(Span::from_millis(4200))
        // limits.attempt_timeout: what the waits leave each attempt of a third
        // of the SLO; slower calls want a longer SLO or fewer attempts
        .attempt_timeout(Span::from_millis(350))
        // hints.max: a third of the SLO; a longer hint ends the call, and its
        // caller can reschedule
        // hints.spread: upward only: callers told the same instant do not meet
        // there
        // hints.long: a call that the server has refused in advance is not made
        .hints(HintRule::new(Span::from_millis(1400), Ratio::from_percent(50), LongHint::Stop)?)
        // budget.window.floor: lets a caller with little traffic retry at all;
        // 9 of them add at most 0.45/s
        // budget.window.ratio: in a total outage retries add a tenth to the
        // load, and not two thirds or more
        // budget.window.window: long enough to survive a pause, short enough to
        // forget an outage
        .budget(WindowPlan::new(Ratio::from_percent(10))?.with_window(Span::from_secs(10))?)
        .build()
}
