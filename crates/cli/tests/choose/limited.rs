use stagger::breaker::BreakerPlan;
use stagger::budget::{FloorRate, WindowPlan};
use stagger::{Backoff, ConfigError, HintRule, LongHint, Policy, Rate, Ratio, Span};

/// Chosen by `stagger choose`.
///
/// Answers: idempotent = yes, rps = 50, slo = 10s, rate-limited = yes
///
/// Not said, so taken as usual: retryable = yes, callers = 100, minimum-wait =
/// none, background = no, p99 = unknown, layers = 1
///
/// Compare attempt_timeout (550ms) with the p99 of healthy attempts, or answer
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
        // backoff.base: a stumble passes in this time; 100 callers come back at
        // 1000/s
        // backoff.cap: above every wait of these attempts; it holds when
        // somebody raises them
        // backoff.jitter: no minimum is needed, and nothing spreads callers
        // better
        .backoff(Backoff::exponential(Span::from_millis(100), Span::from_secs(10))?)
        // throttled_backoff.envelope: there is no time to grow in
        // throttled_backoff.base: a limit needs about 1s; this is what a sixth
        // of the SLO has for each wait
        // throttled_backoff.jitter: as above
        .throttled_backoff(Backoff::constant(Span::from_millis(830)))
        // limits.max_attempts: the first one counts; as most SDKs, what two
        // retries do not heal is an outage
        .max_attempts(3)
        // limits.deadline: the SLO: an answer after it is load without use
        .deadline(Span::from_secs(10))
        // limits.attempt_timeout: what the waits leave each attempt of a third
        // of the SLO; slower calls want a longer SLO or fewer attempts
        .attempt_timeout(Span::from_millis(550))
        // hints.max: as long as the SLO; what does not fit before the deadline
        // ends the call, hint in hand
        // hints.spread: upward only: callers told the same instant do not meet
        // there
        // hints.long: a call that the server has refused in advance is not made
        .hints(HintRule::new(Span::from_secs(10), Ratio::from_percent(50), LongHint::Stop)?)
        // budget.window.floor: none: a tenth of 50/s is enough, and the floors
        // of 100 callers would add 5 retries/s
        // budget.window.ratio: in a total outage retries add a tenth to the
        // load, and not two thirds or more
        // budget.window.window: long enough to survive a pause, short enough to
        // forget an outage
        .budget(WindowPlan::new(Ratio::from_percent(10))?.with_window(Span::from_secs(10))?.with_floor(FloorRate::Add(Rate::ZERO)))
        // breaker.ratio: half of the calls: what fails less is better retried
        // than refused
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
        .breaker(BreakerPlan::builder().ramp(Ratio::from_percent(10), Span::from_secs(10)).build()?)
        .build()
}
