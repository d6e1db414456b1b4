//! The part of a blocking call's driver that does not depend on the types of the call, as `driver_state` is for async
//! calls.

use std::ops::Deref;

use stagger_core::retry::{Action, Ledger, Wait};
use stagger_core::{Instant, Outcome, Span};

use super::active_call::ActiveCall;
use super::call_record::CallRecord;
use super::error::CallEnd;
use super::history::Mark;
use super::{AttemptInfo, CallReport, NextStep, Retrier};
use crate::cancel::Cancel;
use crate::clock::Pause;

/// The call in the engine, its record, and the handle that ends it early.
pub(super) struct BlockingDriver<'r, 'c, R, L> {
    call: ActiveCall<R, L>,
    record: CallRecord<'r>,
    cancel: Option<&'c Cancel>,
    /// The action that follows; none before the first attempt, and while one is under way.
    next: Option<Action<()>>,
}

impl<'r, 'c, R, L> BlockingDriver<'r, 'c, R, L> {
    pub(super) const fn new(
        call: ActiveCall<R, L>,
        report: Option<&'r mut CallReport>,
        cancel: Option<&'c Cancel>,
    ) -> Self {
        Self { call, record: CallRecord::new(report), cancel, next: None }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(Cancel::is_cancelled)
    }
}

impl<R, Z, L> BlockingDriver<'_, '_, R, L>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Pause,
    for<'l> &'l L: Ledger,
{
    /// Waits until an attempt is to be made; no when the call has [ended](Self::end).
    #[inline(never)]
    pub(super) fn reach_attempt(&mut self) -> bool {
        let is_first = self.next.is_none() && self.cancel.is_none() && !self.record.is_reported();
        if is_first && self.call.needs_no_time() {
            self.call.note_start();
            return true;
        }
        self.reach_timed_attempt()
    }

    #[inline(never)]
    fn reach_timed_attempt(&mut self) -> bool {
        if self.next.is_none() {
            let action = self.call.begin_blocking(self.record.is_reported());
            if action == Action::Attempt(()) && self.cancel.is_none() {
                return true;
            }
            self.next = Some(action);
        }
        self.reach_later_attempt()
    }

    #[cold]
    #[inline(never)]
    fn reach_later_attempt(&mut self) -> bool {
        let mut action = self.next.take().unwrap_or_else(|| self.call.cancel());
        loop {
            action = match action {
                Action::Attempt(()) if self.is_cancelled() => self.call.cancel(),
                Action::Attempt(()) => return true,
                Action::Wait(Wait::Until(at)) => self.wait(at),
                Action::Done(done) => {
                    if !done.pause.is_zero() {
                        self.call.time().pause(done.pause, self.cancel);
                    }
                    self.record.set_done(done);
                    return false;
                }
                // The call has no copies.
                Action::Hedge(()) | Action::Wait(Wait::Copies { .. }) => self.call.cancel(),
            }
        }
    }

    /// The facts of the attempt that was decided on.
    #[inline(never)]
    pub(super) fn info(&self) -> AttemptInfo {
        self.call.info()
    }

    /// The attempt succeeded. Returns its end if a report is wanted.
    #[inline(never)]
    pub(super) fn succeed(&mut self, outcome: &Outcome) -> Option<(Mark, NextStep)> {
        if self.record.is_reported() {
            return Some(self.call.succeed_reported(&mut self.record, outcome));
        }
        if self.call.is_started() {
            self.call.succeed(outcome);
        }
        None
    }

    /// The attempt settled.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self, outcome: &Outcome) -> (Mark, NextStep) {
        let (action, mark) = self.call.settle(outcome);
        self.record.note(mark, outcome, true);
        let next = self.call.next_step(&action);
        self.next = Some(action);
        (mark, next)
    }

    /// The end of the call.
    #[cold]
    #[inline(never)]
    pub(super) fn end(&mut self) -> Box<CallEnd> {
        let mut end = self.record.end();
        self.call.explain(&mut end);
        end
    }

    #[cold]
    fn wait(&mut self, at: Instant) -> Action<()> {
        let waited = if self.call.is_queued() {
            self.wait_for_turn(at)
        } else {
            self.call.time().pause(self.call.delay_until(at), self.cancel);
            at
        };
        if self.is_cancelled() { self.call.cancel() } else { self.call.wake_at(waited) }
    }

    /// Waits on this thread until the attempt that waits for a place has its turn, at most until `at`.
    /// Returns the time at which it stopped waiting.
    fn wait_for_turn(&self, at: Instant) -> Instant {
        let turn = Cancel::new();
        let waker = turn.waker();
        let mut left = self.call.delay_until(at);
        while !left.is_zero() && !self.call.has_turn(&waker) && !self.is_cancelled() {
            let slice = if self.cancel.is_some() { left.min(CANCEL_CHECK) } else { left };
            self.call.time().pause(slice, Some(&turn));
            left = left - slice;
        }
        if left.is_zero() { at } else { Instant::ORIGIN }
    }
}

/// The longest pause of a thread that waits for a place, where it looks for `cancel` in between: half of
/// the time within which a [`Pause`] hears of it.
const CANCEL_CHECK: Span = Span::from_millis(25);
