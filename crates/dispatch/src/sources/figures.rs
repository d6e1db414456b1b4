//! Figures of sources for recorders of `metrics`.

use metrics::{Counter, Unit, counter, describe_counter};

use super::accept::SourceOutcome;

const MESSAGES: &str = "stagger.source.messages";
const FAILURES: &str = "stagger.source.failures";
const SOURCE: &str = "stagger.source";
const RESULT: &str = "stagger.result";

/// The figures of one source. Their labels are bounded by the settings.
pub(super) struct SourceFigures {
    accepted: Counter,
    repeated: Counter,
    poison: Counter,
    later: Counter,
    pub(super) failures: Counter,
}

impl SourceFigures {
    pub(super) fn new(name: &str) -> Self {
        describe_counter!(
            MESSAGES,
            Unit::Count,
            "Messages of sources, by result: accepted, repeated, poison (never acceptable), later (put off)"
        );
        describe_counter!(FAILURES, Unit::Count, "Failures to reach the broker of a source");
        let of =
            |result: &'static str| counter!(MESSAGES, SOURCE => name.to_owned(), RESULT => result);
        Self {
            accepted: of("accepted"),
            repeated: of("repeated"),
            poison: of("poison"),
            later: of("later"),
            failures: counter!(FAILURES, SOURCE => name.to_owned()),
        }
    }

    pub(super) fn count(&self, outcome: SourceOutcome) {
        match outcome {
            SourceOutcome::Accepted => self.accepted.increment(1),
            SourceOutcome::Repeated => self.repeated.increment(1),
            SourceOutcome::Poison => self.poison.increment(1),
            SourceOutcome::Later => self.later.increment(1),
        }
    }
}
