use stagger::breaker::BreakerPlan;
use stagger::budget::IntervalPlan;
use stagger::{Backoff, ConfigError, HintRule, Jitter, LongHint, Policy, Ratio, Span};

/// Chosen by `stagger choose`.
///
/// Answers: idempotent = key, rps = 1, minimum-wait = 2s, background = yes,
/// rate-limited = yes, layers = 3
///
/// Not said, so taken as usual: retryable = yes, callers = 100, slo = none, p99
/// = unknown
///
/// Make one Idempotency-Key for each call, the same on all its attempts, and
/// start the call as idempotent; the server must remember keys for longer than
/// the deadline.
///
/// Retry in one layer only, the one next to what fails: 3 layers of 10 attempts
/// make 1000 calls of one. Within a process the nested guard sees to it;
/// between services give the others max_attempts = 1.
///
/// Compare attempt_timeout (60s) with the p99 of healthy attempts, or answer
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
        // backoff.base: twice the minimum wait, so that equal jitter keeps 2s
        // backoff.cap: beyond it a recovery would go unnoticed for too long
        // backoff.jitter: keeps half of each ceiling as its minimum, and
        // spreads over the other half
        .backoff(Backoff::exponential(Span::from_secs(4), Span::from_secs(300))?.with_jitter(Jitter::Equal)?)
        // limits.max_attempts: few, because 3 layers stand behind each other:
        // 10^3 calls of one if all did so
        .max_attempts(10)
        // limits.deadline: holds all attempts and their longest waits; an SLO
        // would say better
        .deadline(Span::from_secs(1708))
        // limits.attempt_timeout: a minute of silence is a dead connection;
        // raise it for calls that work longer
        .attempt_timeout(Span::from_secs(60))
        // hints.max: the window of many rate limits; a job can be rescheduled
        // for longer ones
        // hints.spread: upward only: callers told the same instant do not meet
        // there
        // hints.long: a call that the server has refused in advance is not made
        .hints(HintRule::new(Span::from_secs(900), Ratio::from_percent(50), LongHint::Stop)?)
        // budget.interval.retries: enough for one call; a tenth of 1/s is less
        // than 1/s, and the floors of 100 callers would add 5 retries/s
        // budget.interval.interval: 9 retries in it: 10 a second of all 100
        // callers
        .budget(IntervalPlan::new(9, Span::from_secs(90))?)
        // breaker.ratio: off: at this rate the window never holds the calls
        // that a share needs, so 10 in a row decide
        // breaker.consecutive: failures without a success between them; one
        // failing call alone opens nothing before its last attempt
        // breaker.window: 100 callers: their first attempts alone would keep a
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
        .breaker(BreakerPlan::builder().ratio(None).consecutive(10).ramp(Ratio::from_percent(10), Span::from_secs(10)).build()?)
        // on_refusal.wait_for_breaker: nobody waits, so there is time for an
        // open breaker to admit probes
        .wait_for_breaker(true)
        // on_refusal.pause_when_empty: a job that goes on with its next item at
        // once would be a hot loop
        .pause_when_empty(true)
        .build()
}
