//! The items that are still to be done, and what one round did to them.

use std::cmp::max;
use std::mem;

use stagger_core::retry::{Done, Stop};
use stagger_core::{Cause, Hint, Outcome, Span, Verdict};

use super::Batch;
use crate::run::classifier::Classifier;

/// Items without an end, and the ends of all others.
pub(super) struct Pending<I, T, E, J> {
    /// Side by side, so that a round sees its items as one slice.
    pub(super) items: Vec<I>,
    places: Vec<usize>,
    done: Vec<(usize, T)>,
    refused: Vec<(usize, I, E)>,
    rounds: u32,
    error: Option<E>,
    classifier: J,
    idempotent: bool,
}

/// The answer of a round: an end for each of its items, in their order, or one for all of them.
pub(super) type Answers<T, E> = Result<Vec<Result<T, E>>, E>;

impl<I, T, E, J: Classifier<T, E>> Pending<I, T, E, J> {
    pub(super) fn new(items: Vec<I>, classifier: J, idempotent: bool) -> Self {
        let places = (0..items.len()).collect();
        let (done, refused) = (Vec::new(), Vec::new());
        Self { items, places, done, refused, rounds: 0, error: None, classifier, idempotent }
    }

    /// The items that the next round sends.
    pub(super) fn begin(&mut self) -> &[I] {
        self.rounds = self.rounds.saturating_add(1);
        &self.items
    }

    /// Takes the results of a round. Items that it leaves without an end stay.
    pub(super) fn settle(&mut self, answers: Answers<T, E>) -> Outcome {
        match answers {
            Ok(answers) => self.settle_each(answers),
            Err(error) => {
                let result = Err(error);
                let outcome = self.classifier.classify(&result);
                self.error = result.err();
                outcome
            }
        }
    }

    /// The end of the batch, whose items it takes. A batch without items made no call, and has nothing left to do.
    pub(super) fn end(&mut self, done: Option<Done>) -> Batch<I, T, E> {
        let (items, places) = (mem::take(&mut self.items), mem::take(&mut self.places));
        Batch {
            done: mem::take(&mut self.done),
            refused: mem::take(&mut self.refused),
            left: places.into_iter().zip(items).collect(),
            stop: done.map_or(Stop::Succeeded, |done| done.stop),
            rounds: self.rounds,
            elapsed: done.map_or(Span::ZERO, |done| done.elapsed),
            hint: done.and_then(|done| done.hint),
            error: self.error.take(),
        }
    }

    fn settle_each(&mut self, answers: Vec<Result<T, E>>) -> Outcome {
        let before = self.items.len();
        let mut answers = answers.into_iter();
        let mut round: Option<Outcome> = None;
        let (items, places) = (mem::take(&mut self.items), mem::take(&mut self.places));
        for (item, place) in items.into_iter().zip(places) {
            if let Some(left) = self.settle_one(item, place, answers.next()) {
                round = Some(round.map_or(left, |round| worse(round, left)));
            }
        }
        let Some(round) = round else { return Outcome::OK };
        if self.items.len() < before { round.with_progress() } else { round }
    }

    /// The outcome of an item that is left.
    fn settle_one(
        &mut self,
        item: I,
        place: usize,
        answer: Option<Result<T, E>>,
    ) -> Option<Outcome> {
        let outcome = answer.as_ref().map_or(UNANSWERED, |answer| self.classifier.classify(answer));
        match answer {
            Some(Ok(value)) => {
                self.done.push((place, value));
                return None;
            }
            Some(Err(error)) if self.may_repeat(&outcome) => self.error = Some(error),
            Some(Err(error)) => {
                self.refused.push((place, item, error));
                return None;
            }
            None => {}
        }
        self.items.push(item);
        self.places.push(place);
        Some(outcome)
    }

    fn may_repeat(&self, outcome: &Outcome) -> bool {
        let verdict = outcome.verdict;
        verdict.is_retryable() && (self.idempotent || verdict == Verdict::Unprocessed)
    }
}

/// An item that the reply does not speak of may have been done.
const UNANSWERED: Outcome = Outcome::new(Verdict::Transient);

/// Two items' outcomes as one of the round: the worse verdict, and the longer hint.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    let rank = |outcome: &Outcome| match outcome.verdict {
        Verdict::Throttled => 2,
        Verdict::Unprocessed => 0,
        _ => 1,
    };
    let mut both = if rank(&other) > rank(&one) { other } else { one };
    both.hint = longer(one.hint, other.hint);
    both.cause = Cause::Reply;
    // What one item needs does not heal the others.
    both.remedy = None;
    both
}

/// The hint that keeps away longer. A word never to come back is the last one.
fn longer(one: Option<Hint>, other: Option<Hint>) -> Option<Hint> {
    match (one, other) {
        (Some(Hint::Never), _) | (_, Some(Hint::Never)) => Some(Hint::Never),
        (Some(a), Some(b)) => max(a.span(), b.span()).map(Hint::AtLeast),
        (one, other) => one.or(other),
    }
}
