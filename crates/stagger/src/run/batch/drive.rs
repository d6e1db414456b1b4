//! A batch as one call: each round is an attempt.

use std::convert::Infallible;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger_core::Outcome;
use stagger_core::retry::Ledger;

use super::Batch;
use super::pending::Pending;
use crate::cancel::Cancel;
use crate::clock::{Pause, Sleep};
use crate::run::classifier::Classifier;
use crate::run::{CallReport, Error, Retrier, Run};

impl<Z, L, J> Run<'_, Z, L, J> {
    /// Sends `items` together, and again those that are left, until none is or there is a reason to
    /// stop.
    ///
    /// `op` gets the items that are left and answers for each of them, in their order, or with one
    /// error for all. Only items whose error is worth another attempt are sent again, after the
    /// policy's delay; items that the answer does not speak of are left. Rounds that did nothing
    /// count against the policy's attempts; deadline, budget and breaker hold for every round.
    ///
    /// An item that may have been done is handed back and not sent again, unless the call is
    /// [`idempotent`](Self::idempotent).
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let retrier = Retrier::new(Policy::default(), TokioTime);
    /// // A table that takes ten items at a time, and leaves the others.
    /// let batch = retrier.retry_if(|_: &&str| true).run_batch((0..25).collect(), async |items: Vec<u32>| {
    ///     Ok(items.into_iter().enumerate().map(|(at, n)| if at < 10 { Ok(n) } else { Err("unprocessed") }).collect())
    /// });
    /// let batch = batch.await;
    /// assert!(batch.is_complete());
    /// assert_eq!((batch.done.len(), batch.rounds), (25, 3));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub async fn run_batch<I, T, E, F, Fut>(self, items: Vec<I>, mut op: F) -> Batch<I, T, E>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        I: Clone,
        J: Classifier<T, E>,
        F: FnMut(Vec<I>) -> Fut,
        Fut: Future<Output = Result<Vec<Result<T, E>>, E>>,
    {
        let Run { retrier, classifier, idempotent, report: user, cancel: _ } = self;
        let mut report = CallReport::default();
        // Only one round is under way at a time. The lock is there because a future that borrows what
        // a closure borrows cannot be spawned (rust-lang/rust #110338).
        let pending = Mutex::new(Pending::new(items, classifier, idempotent));
        if !lock(&pending).items.is_empty() {
            let run = rounds(retrier, idempotent, None).report(&mut report);
            let rounds = run.run(|| {
                let round = op(lock(&pending).begin().to_vec());
                let pending = &pending;
                async move {
                    let answers = round.await;
                    Ok(lock(pending).settle(answers))
                }
            });
            // The end is in the report.
            let _: Result<Outcome, Error<Infallible>> = rounds.await;
        }
        pending.into_inner().unwrap_or_else(PoisonError::into_inner).end(report, user)
    }

    /// The same on this thread, with an `op` that borrows the items.
    pub fn run_batch_blocking<I, T, E, F>(self, items: Vec<I>, mut op: F) -> Batch<I, T, E>
    where
        Z: Pause,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(&[I]) -> Result<Vec<Result<T, E>>, E>,
    {
        let Run { retrier, classifier, idempotent, report: user, cancel } = self;
        let mut pending = Pending::new(items, classifier, idempotent);
        let mut report = CallReport::default();
        if !pending.items.is_empty() {
            let run = rounds(retrier, idempotent, cancel).report(&mut report);
            let rounds = run.run_blocking(|| {
                let answers = op(pending.begin());
                Ok(pending.settle(answers))
            });
            let _: Result<Outcome, Error<Infallible>> = rounds;
        }
        pending.end(report, user)
    }
}

/// A call whose attempts return their outcome.
fn rounds<'r, Z, L>(
    retrier: &'r Retrier<Z, L>,
    idempotent: bool,
    cancel: Option<&'r Cancel>,
) -> Run<'r, Z, L, RoundOutcome> {
    Run { cancel, ..retrier.call().classified_by(RoundOutcome).idempotent(idempotent) }
}

/// Classifies rounds by the outcome that they return.
struct RoundOutcome;

impl Classifier<Outcome, Infallible> for RoundOutcome {
    fn classify(&mut self, round: &Result<Outcome, Infallible>) -> Outcome {
        match round {
            Ok(outcome) => *outcome,
            Err(never) => match *never {},
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
