//! Attempts a call in a window, and the evidence for them.

use crate::window_counts::SecondCounts;

/// The evidence by which retries are told from first attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEvidence {
    /// The number of the attempt is written.
    Number,
    /// An id is written that all attempts of a call share.
    Id,
    /// A guess: the same client asks for the same thing after a failure, more often than it does
    /// after a success.
    Guess,
    /// Nothing: retries cannot be told from calls.
    Nothing,
}

impl AttemptEvidence {
    /// The evidence as one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Id => "id",
            Self::Guess => "guess",
            Self::Nothing => "nothing",
        }
    }
}

/// Retries and calls of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryEstimate {
    /// Attempts.
    pub attempts: f64,
    /// Calls among them: first attempts.
    pub calls: f64,
    /// The standard error of the number of retries: zero where they are written.
    pub error: f64,
    /// The evidence.
    pub evidence: AttemptEvidence,
}

/// The standard errors by which retries must exceed what chance makes.
const ERRORS: f64 = 3.0;
/// The half-life of the usual rate of a caller, in seconds.
const HALF_LIFE: f64 = 120.0;

/// The rate at which a caller comes back when nothing is wrong, a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UsualRate {
    again: f64,
    time: f64,
}

impl UsualRate {
    /// Takes the counts of a second.
    pub(crate) fn note(&mut self, second: &SecondCounts) {
        let kept = (-1.0 / HALF_LIFE).exp2();
        self.again = self.again * kept + second.after_success;
        self.time = self.time * kept + second.served_time;
    }

    /// The higher one of the usual rate and the rate now: a crowd that calls more often than usual
    /// calls more often after failures too.
    fn now(&self, window: &SecondCounts) -> f64 {
        let usual = rate(self.again, self.time);
        // Within one caller's second there is nothing to see.
        if window.served_time < 1.0 {
            usual
        } else {
            usual.max(rate(window.after_success, window.served_time))
        }
    }
}

fn rate(events: f64, time: f64) -> f64 {
    if time > 0.0 { events / time } else { 0.0 }
}

impl RetryEstimate {
    pub(crate) fn new(window: &SecondCounts, usual: &UsualRate) -> Self {
        let Some((calls, error, evidence)) = calls(window, usual) else {
            let attempts = window.attempts();
            return Self {
                attempts,
                calls: attempts,
                error: 0.0,
                evidence: AttemptEvidence::Nothing,
            };
        };
        Self { attempts: window.attempts(), calls: calls.min(window.lines), error, evidence }
    }

    /// Retries: attempts that are not the first of their call.
    #[must_use]
    pub fn retries(&self) -> f64 {
        (self.attempts - self.calls).max(0.0)
    }

    /// Attempts a call; of a window without a first attempt, as if there were one.
    #[must_use]
    pub fn attempts_a_call(&self) -> f64 {
        ratio(self.attempts, self.calls)
    }

    /// Attempts a call at least, by three standard errors.
    #[must_use]
    pub fn at_least(&self) -> f64 {
        let retries = (self.retries() - ERRORS * self.error).max(0.0);
        ratio(self.attempts, self.attempts - retries)
    }
}

fn ratio(attempts: f64, calls: f64) -> f64 {
    if attempts < 1.0 { 1.0 } else { (attempts / calls.max(1.0)).max(1.0) }
}

/// Calls, the standard error, and the evidence.
fn calls(window: &SecondCounts, usual: &UsualRate) -> Option<(f64, f64, AttemptEvidence)> {
    if 2.0 * window.numbered > window.lines {
        // Lines without a number are taken for first attempts.
        let unnumbered = window.lines - window.numbered;
        let again = window.first * rate(window.first_again, window.first_followed);
        return Some((window.first + unnumbered - again, 0.0, AttemptEvidence::Number));
    }
    if window.followed <= 0.0 {
        return None;
    }
    // Those that are followed stand for all.
    let scale = window.lines / window.followed;
    if 2.0 * window.by_id > window.followed {
        return Some((window.lines - scale * window.after_failure, 0.0, AttemptEvidence::Id));
    }
    let by_chance = usual.now(window) * window.failing_time;
    let retries = (window.after_failure - by_chance).max(0.0);
    let error = (window.after_failure + by_chance).sqrt();
    Some((window.lines - scale * retries, scale * error, AttemptEvidence::Guess))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_numbers_are_counted_and_calls_repeated_further_out_taken_off() {
        let window = SecondCounts {
            lines: 90.0,
            numbered: 90.0,
            first: 30.0,
            first_followed: 30.0,
            first_again: 20.0,
            ..SecondCounts::default()
        };
        let estimate = RetryEstimate::new(&window, &UsualRate::default());
        assert_eq!((estimate.calls, estimate.evidence), (10.0, AttemptEvidence::Number));
        assert!((estimate.attempts_a_call() - 9.0).abs() < 1e-9);
    }

    #[test]
    fn callers_that_come_as_often_after_a_success_do_not_retry() {
        let window = SecondCounts {
            lines: 1_000.0,
            followed: 1_000.0,
            after_failure: 500.0,
            after_success: 500.0,
            failing_time: 50.0,
            served_time: 50.0,
            ..SecondCounts::default()
        };
        let estimate = RetryEstimate::new(&window, &UsualRate::default());
        assert_eq!(estimate.evidence, AttemptEvidence::Guess);
        assert!(estimate.at_least() < 1.01, "{estimate:?}");
        // The same repeats of callers that used to come ten times less often.
        let calm = SecondCounts { after_success: 50.0, ..window };
        let estimate = RetryEstimate::new(&calm, &UsualRate::default());
        assert!(estimate.at_least() > 1.5, "{estimate:?}");
    }

    #[test]
    fn nothing_is_claimed_without_evidence() {
        let window = SecondCounts { lines: 50.0, failed: 50.0, ..SecondCounts::default() };
        let estimate = RetryEstimate::new(&window, &UsualRate::default());
        assert_eq!(estimate.evidence, AttemptEvidence::Nothing);
        assert!((estimate.attempts_a_call() - 1.0).abs() < 1e-9);
    }
}
