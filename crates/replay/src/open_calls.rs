//! First attempts told from retries.
//!
//! In this order, by what a line has:
//!
//! 1. the number of the attempt in its call;
//! 2. an id that all attempts of a call share: an attempt is a retry when one of the same id and
//!    the same path failed before;
//! 3. the client and what it asked for: an attempt is taken for a retry when one of the same client
//!    for the same thing failed up to a minute before, and was over. Each failure accounts for one
//!    retry. This is a guess: a page that polls looks the same, and clients behind one address
//!    look like one;
//! 4. nothing: every attempt is a first one.
//!
//! Only failures are remembered, because clients do not retry after an answer.

use std::collections::BTreeMap;

use stagger_core::Span;

use crate::chance_matches::ChanceMatches;
use crate::logged_attempt::{CallerIdentity, LoggedAttempt};
use crate::retry_law::RetryCounts;

/// A retry with an id comes this long after the failure at most: longer delays are a job's, not a
/// caller's.
const BY_ID: Span = Span::from_secs(600);
/// The same of a guess: the usual caps of delays are 10 s to a minute.
const BY_REQUEST: Span = Span::from_secs(60);
/// Failures that are remembered, twice: those since the last turn and those before it. 24 bytes
/// each, and what the tree adds.
const MOST_OPEN: usize = 1_000_000;

/// Remembers failures until a retry comes.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    young: BTreeMap<u64, Open>,
    old: BTreeMap<u64, Open>,
    /// The time at which `young` was begun.
    turned: Span,
    evidence: RetryEvidence,
    most: usize,
    /// Attempts by their numbers in their calls.
    pub(crate) counts: RetryCounts,
    /// The share of guesses that would be wrong.
    pub(crate) chance: ChanceMatches,
}

/// Failures of one caller that no retry has followed yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    failures: u32,
    /// The time at which the last of them ended.
    ended: Span,
    /// The number of the last of them in its call.
    number: u32,
}

/// Attempts by the evidence that told retries apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryEvidence {
    /// By a number that is written.
    pub number: u64,
    /// By an id that is written.
    pub id: u64,
    /// By a guess from client and path.
    pub guess: u64,
    /// By nothing: they are taken for first attempts.
    pub nothing: u64,
    /// Failures that had to be forgotten early, because too many were open at once.
    pub forgotten: u64,
}

impl OpenCalls {
    /// Whether this attempt is a retry. Attempts must come in about the order of their ends; `grain`
    /// is how far their stamps may be off.
    pub(crate) fn is_retry(&mut self, attempt: &LoggedAttempt, grain: Span) -> bool {
        let (key, within) = match attempt.caller {
            CallerIdentity::Id(key) => (Some(key), BY_ID),
            CallerIdentity::Request(key) => (Some(key), BY_REQUEST),
            CallerIdentity::Unknown => (None, Span::ZERO),
        };
        let followed = key.and_then(|key| self.follow(key, attempt, within, grain));
        match (attempt.number, attempt.caller) {
            (Some(_), _) => self.evidence.number += 1,
            (None, CallerIdentity::Id(_)) => self.evidence.id += 1,
            (None, CallerIdentity::Request(_)) => self.evidence.guess += 1,
            (None, CallerIdentity::Unknown) => self.evidence.nothing += 1,
        }
        let told = followed.map_or(1, |open| open.number.saturating_add(1));
        let number = attempt.number.unwrap_or(told);
        let failed = attempt.answer.is_failure();
        let delay = followed.map(|open| attempt.began() - open.ended);
        self.counts.count(number, failed, delay);
        if let (CallerIdentity::Request(key), None) = (attempt.caller, attempt.number) {
            self.chance.count(key, attempt.began(), (!failed).then(|| attempt.ended()));
        }
        if let Some(key) = key.filter(|_| failed) {
            self.remember(key, attempt.ended(), number);
        }
        number > 1
    }

    pub(crate) const fn evidence(&self) -> RetryEvidence {
        self.evidence
    }

    /// The most failures that were remembered at once.
    pub(crate) const fn most_held(&self) -> usize {
        self.most
    }

    /// The failure of this caller that was waiting for a retry; it is no longer.
    fn follow(
        &mut self,
        key: u64,
        attempt: &LoggedAttempt,
        within: Span,
        grain: Span,
    ) -> Option<Open> {
        let began = attempt.began();
        for generation in [&mut self.young, &mut self.old] {
            let Some(open) = generation.get_mut(&key) else { continue };
            if began + grain < open.ended {
                // It was under way before its caller knew of that failure.
                return None;
            }
            if began - open.ended > within {
                generation.remove(&key);
                continue;
            }
            let followed = *open;
            open.failures -= 1;
            if open.failures == 0 {
                generation.remove(&key);
            }
            return Some(followed);
        }
        None
    }

    fn remember(&mut self, key: u64, ended: Span, number: u32) {
        let is_full = self.young.len() >= MOST_OPEN;
        if is_full || ended - self.turned > BY_ID {
            let forgotten = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            self.evidence.forgotten += if is_full { forgotten.len() as u64 } else { 0 };
            self.turned = ended;
        }
        let open = self.young.entry(key).or_insert(Open { failures: 0, ended, number });
        open.failures = open.failures.saturating_add(1);
        open.number = number;
        open.ended = open.ended.max(ended);
        self.most = self.most.max(self.young.len() + self.old.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logged_attempt;
    use crate::logged_attempt::LoggedOutcome;

    const GRAIN: Span = Span::from_millis(1);

    fn attempt(second: u64, caller: CallerIdentity, answer: LoggedOutcome) -> LoggedAttempt {
        let took = Some(Span::from_millis(100));
        LoggedAttempt { caller, answer, took, ..logged_attempt::at(Span::from_secs(second)) }
    }

    fn retries(attempts: &[LoggedAttempt]) -> Vec<bool> {
        let mut calls = OpenCalls::default();
        attempts.iter().map(|attempt| calls.is_retry(attempt, GRAIN)).collect()
    }

    #[test]
    fn each_failure_accounts_for_one_retry() {
        let (bad, good) = (LoggedOutcome::Failed, LoggedOutcome::Served);
        let one = |second, answer| attempt(second, CallerIdentity::Request(7), answer);
        // Two clients behind one address fail, both come again, and a third comes anew.
        let all = [one(1, bad), one(1, bad), one(2, good), one(2, good), one(2, good)];
        assert_eq!(retries(&all), [false, false, true, true, false]);
        assert_eq!(retries(&[one(1, bad), one(2, bad), one(3, good)]), [false, true, true]);
    }

    #[test]
    fn a_guess_reaches_a_minute_back_and_an_id_ten() {
        for (caller, expected) in
            [(CallerIdentity::Request(7), false), (CallerIdentity::Id(7), true)]
        {
            let all = [
                attempt(1, caller, LoggedOutcome::Failed),
                attempt(100, caller, LoggedOutcome::Served),
            ];
            assert_eq!(retries(&all), [false, expected]);
        }
    }

    #[test]
    fn what_was_under_way_before_the_failure_ended_is_no_retry() {
        let slow = LoggedAttempt {
            took: Some(Span::from_secs(5)),
            ..attempt(1, CallerIdentity::Request(7), LoggedOutcome::Hung)
        };
        let all = [slow, attempt(3, CallerIdentity::Request(7), LoggedOutcome::Served)];
        assert_eq!(retries(&all), [false, false]);
    }

    #[test]
    fn a_written_number_is_believed() {
        let numbered = |number| LoggedAttempt {
            number: Some(number),
            ..attempt(1, CallerIdentity::Unknown, LoggedOutcome::Served)
        };
        assert_eq!(retries(&[numbered(1), numbered(2)]), [false, true]);
    }

    #[test]
    fn failures_that_nobody_follows_are_forgotten() {
        let mut calls = OpenCalls::default();
        for second in 0..10_000 {
            calls.is_retry(
                &attempt(second, CallerIdentity::Id(second), LoggedOutcome::Failed),
                GRAIN,
            );
        }
        assert!(calls.most_held() <= 1_203, "{}", calls.most_held());
    }
}
