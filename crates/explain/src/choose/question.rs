//! The questions, in the order in which they are asked.

use super::{Answers, QuestionKey, Repeat};

/// A question, why it is asked, and what the answers lead to.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The name of the question.
    pub key: QuestionKey,
    /// Its words.
    pub ask: &'static str,
    /// Why it is asked.
    pub why: &'static str,
    /// The answers that are allowed.
    pub form: &'static str,
    /// Answers, each with what it leads to.
    pub branches: &'static [(&'static str, &'static str)],
}

impl Question {
    /// Whether its answer can still change the policy.
    #[must_use]
    pub fn matters(&self, so_far: &Answers) -> bool {
        match self.key {
            QuestionKey::Retryable => true,
            QuestionKey::Idempotent
            | QuestionKey::Slo
            | QuestionKey::P99
            | QuestionKey::Background
            | QuestionKey::Callers => so_far.retryable,
            QuestionKey::Rps
            | QuestionKey::MinimumWait
            | QuestionKey::RateLimited
            | QuestionKey::Layers => so_far.retryable && so_far.repeat != Repeat::Never,
        }
    }
}

/// All questions, in their order.
pub const QUESTIONS: [Question; 10] = [
    Question {
        key: QuestionKey::Retryable,
        ask: "Do failures of these calls heal by themselves?",
        why: "a bad request, a missing right or a bug fails every time",
        form: "yes or no",
        branches: &[
            ("no", "no policy: a retry would only be load. Mend the call, or hand the error on"),
            (
                "yes",
                "go on; still classify errors, for 4xx (except 408, 429), TLS and DNS do not heal",
            ),
        ],
    },
    Question {
        key: QuestionKey::Idempotent,
        ask: "May a call be sent twice and have the effect of once?",
        why: "after a timeout nobody knows whether the first one was carried out",
        form: "yes, no, or key (it carries an idempotency key)",
        branches: &[
            ("no", "1 attempt; an idempotency key would allow more"),
            ("key", "as yes, with one key for all attempts of a call"),
            ("yes", "3 attempts"),
        ],
    },
    Question {
        key: QuestionKey::Callers,
        ask: "How many processes call this destination?",
        why: "they fail together and come back together; the first wave is as large as they are many",
        form: "a number, such as 5000",
        branches: &[
            ("up to 1000", "base 100 ms"),
            ("more", "a base that grows with them: no more than 10000 of them a second come back"),
            ("from 100", "a breaker with a ramp, and floors of the budget that do not add up"),
        ],
    },
    Question {
        key: QuestionKey::Rps,
        ask: "How many calls a second does one of them make?",
        why: "retries are judged by the usual load, and a breaker needs enough calls to judge by",
        form: "a number such as 20 or 0.5, or unknown",
        branches: &[
            ("known", "the first wave of retries is no larger than the usual load"),
            ("below 2", "a breaker by failures in a row, for no window fills"),
            (
                "below 10, many callers",
                "a budget by the interval: a floor of 1/s would be all there is",
            ),
        ],
    },
    Question {
        key: QuestionKey::MinimumWait,
        ask: "Must the destination be left alone for some time after a failure?",
        why: "full jitter may draw a wait of almost nothing",
        form: "a time such as 500ms, or none",
        branches: &[
            ("none", "full jitter: the best spread"),
            ("a time", "equal jitter with twice that as its base: never below half the ceiling"),
            (
                "a time, little room",
                "proportional jitter that ends exactly there, or no retry at all",
            ),
        ],
    },
    Question {
        key: QuestionKey::Background,
        ask: "Is this background work, for whose answer nobody waits?",
        why: "patience costs nothing there, and outages last minutes",
        form: "yes or no",
        branches: &[
            (
                "yes",
                "up to 20 attempts, base 1 s, cap 5 min, hints of 15 min, and without an SLO waiting for a breaker",
            ),
            ("no", "3 attempts, base 100 ms, cap 10 s, and an answer in time rather than later"),
        ],
    },
    Question {
        key: QuestionKey::Slo,
        ask: "How long may a call take in all, retries included?",
        why: "a retry after that is load without use",
        form: "a time such as 2s, or none",
        branches: &[
            (
                "a time",
                "deadline = SLO; the worst case takes a third of it, half for the waits and half for the attempts",
            ),
            ("none", "a deadline that holds all attempts and all waits"),
        ],
    },
    Question {
        key: QuestionKey::P99,
        ask: "Within which time are 99 of 100 healthy attempts answered (the p99)?",
        why: "an attempt that is cut off sooner is repeated while the server still works on it",
        form: "a time such as 80ms, or unknown",
        branches: &[
            (
                "known",
                "attempt_timeout of at least three times that, and only attempts that fit into the SLO at that pace",
            ),
            (
                "unknown",
                "attempt_timeout by the SLO alone: compare it with the p99 before it ships",
            ),
        ],
    },
    Question {
        key: QuestionKey::RateLimited,
        ask: "Does the destination limit its callers (429, Retry-After)?",
        why: "a limit heals when its window ends, not after a stumble's time",
        form: "yes or no",
        branches: &[
            ("yes", "throttled_backoff with base 1 s, and hints obeyed as long as the time allows"),
            ("no", "hints obeyed as far as the waits go"),
        ],
    },
    Question {
        key: QuestionKey::Layers,
        ask: "How many services stand one behind the other here, this one included?",
        why: "three layers of three attempts make 27 calls of one",
        form: "a number from 1 to 10",
        branches: &[
            ("1", "go on"),
            ("more", "fewer attempts (2, or 10 in the background), in one layer only: this one"),
        ],
    },
];
