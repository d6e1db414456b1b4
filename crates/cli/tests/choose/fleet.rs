use stagger::breaker::BreakerPlan;
use stagger::budget::WindowPlan;
use stagger::{Backoff, ConfigError, HintRule, LongHint, Policy, Ratio, Span};

/// Chosen by `stagger choose`.
///
/// Answers: idempotent = yes, callers = 5000, slo = 5s, p99 = 300ms
///
/// Not said, so taken as usual: retryable = yes, rps = unknown, minimum-wait =
/// none, background = no, rate-limited = no, layers = 1
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
        // backoff.base: as long as a sixth of the SLO allows (500ms without
        // it): 5000 callers come back at 18518/s
        // backoff.cap: the last wait; a sixth of the SLO holds all of them
        // backoff.jitter: no minimum is needed, and nothing spreads callers
        // better
        .backoff(Backoff::exponential(Span::from_millis(270), Span::from_millis(540))?)
        // limits.max_attempts: the first one counts; as most SDKs, what two
        // retries do not heal is an outage
        .max_attempts(3)
        // limits.deadline: the SLO: an answer after it is load without use
        .deadline(Span::from_secs(5))
        // limits.attempt_timeout: three times the p99, so that no healthy
        // attempt is repeated while the server works on it
        .attempt_timeout(Span::from_millis(900))
        // hints.max: a third of the SLO; a longer hint ends the call, and its
        // caller can reschedule
        // hints.spread: upward only: callers told the same instant do not meet
        // there
        // hints.long: a call that the server has refused in advance is not made
        .hints(HintRule::new(Span::from_millis(1600), Ratio::from_percent(50), LongHint::Stop)?)
        // budget.window.floor: lets a caller with little traffic retry at all;
        // 5000 of them add at most 250/s: say --rps to have less
        // budget.window.ratio: in a total outage retries add a tenth to the
        // load, and not two thirds or more
        // budget.window.window: long enough to survive a pause, short enough to
        // forget an outage
        .budget(WindowPlan::new(Ratio::from_percent(10))?.with_window(Span::from_secs(10))?)
        // breaker.ratio: half of the calls: what fails less is better retried
        // than refused
        // breaker.window: 5000 callers: their first attempts alone would keep a
        // server down, so they stop
        // breaker.minimum_calls: below it a share is chance
        // breaker.open_time: stretched at random by up to a half, so that
        // probes do not meet
        // breaker.open_factor: a server that fails its probes is asked ever
        // less often
        // breaker.open_cap: a recovery is noticed within a minute and a half
        // breaker.probes: one answer is enough to know
        // breaker.ramp_from: a server that has just come back meets a tenth of
        // the load first
        // breaker.ramp_time: and all of it after this
        .breaker(BreakerPlan::builder().ramp(Ratio::from_percent(10), Span::from_secs(10)).build()?)
        .build()
}
