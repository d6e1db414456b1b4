//! The part of a call's driver that does not depend on the types of the call. Its methods are not copied to where
//! calls are made, so that each such place adds little code.

use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::Outcome;
use stagger_core::retry::{Action, Done, Ledger, Wait};

use super::active_call::ActiveCall;
use super::call_record::CallRecord;
use super::classifier::TIMED_OUT;
use super::error::CallEnd;
use super::history::Mark;
use super::{AttemptInfo, CallReport, Error, NextStep, Retrier};
use crate::clock::Sleep;

pin_project! {
    /// The call in the engine, its record, and its timer. `W` is the timer.
    #[project = StateParts]
    pub(crate) struct DriverState<'r, R, L, W> {
        pub(super) call: ActiveCall<R, L>,
        pub(super) record: CallRecord<'r>,
        phase: CallPhase,
        // The one timer of the phase: no phase has two. In place, so that an attempt with a time limit allocates
        // nothing.
        #[pin]
        timer: Option<W>,
    }
}

/// The phase of a call. It owns nothing, so that changing it drops nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallPhase {
    Begin,
    /// An attempt was decided on.
    Starting,
    /// An attempt is under way, which has not yet turned out to take time.
    Attempting,
    /// An attempt is under way, with the timer of its limit if it has one.
    Limited,
    /// The timer is gone once it has ended; the classifier may need longer.
    Waiting,
    /// All is decided; the caller is kept back for a while.
    Pausing,
    /// All is decided.
    Done,
    /// The caller has its result.
    Ended,
}

impl<'r, R, L, W> DriverState<'r, R, L, W> {
    pub(super) const fn new(call: ActiveCall<R, L>, report: Option<&'r mut CallReport>) -> Self {
        let record = CallRecord::new(report);
        Self { call, record, phase: CallPhase::Begin, timer: None }
    }

    #[inline]
    pub(super) fn is_attempting(&self) -> bool {
        matches!(self.phase, CallPhase::Attempting | CallPhase::Limited)
    }

    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.phase == CallPhase::Waiting
    }

    #[inline]
    pub(super) fn is_begun(&self) -> bool {
        self.phase != CallPhase::Begin
    }

    /// The caller has its result.
    pub(super) fn set_ended(self: Pin<&mut Self>) {
        *self.project().phase = CallPhase::Ended;
    }

    /// Attempts are under way, none of which has turned out to take time.
    pub(super) fn set_attempting(self: Pin<&mut Self>) {
        let mut parts = self.project();
        parts.timer.set(None);
        *parts.phase = CallPhase::Attempting;
    }
}

impl<R, Z, L> DriverState<'_, R, L, Z::Timer>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
{
    /// Whether the first attempt starts now, because the policy needs no time. At the place that makes the call: the
    /// cheapest calls ask for no more.
    #[inline]
    pub(super) fn starts_at_once(self: Pin<&mut Self>, timed: bool) -> bool {
        let parts = self.project();
        let is_first = *parts.phase == CallPhase::Begin && !timed && !parts.record.is_reported();
        let starts = is_first && parts.call.needs_no_time();
        if starts {
            *parts.phase = CallPhase::Attempting;
        }
        starts
    }

    /// Ready with yes when an attempt is to be made, with no when the call has [ended](Self::end). While it waits,
    /// `held` keeps it from going on.
    #[inline(never)]
    pub(super) fn poll_attempt(
        mut self: Pin<&mut Self>,
        (timed, held): (bool, bool),
        context: &mut Context<'_>,
    ) -> Poll<bool> {
        if self.phase == CallPhase::Begin {
            let parts = self.as_mut().project();
            let action = parts.call.begin(timed || parts.record.is_reported());
            if action == Action::Attempt(()) {
                *parts.phase = CallPhase::Attempting;
                return Poll::Ready(true);
            }
            self.as_mut().act(action);
        }
        self.poll_later_attempt(held, context)
    }

    #[cold]
    fn poll_later_attempt(
        mut self: Pin<&mut Self>,
        held: bool,
        context: &mut Context<'_>,
    ) -> Poll<bool> {
        loop {
            match self.phase {
                CallPhase::Waiting => {
                    let parts = self.as_mut().project();
                    let mut timer = parts.timer;
                    if parts.call.is_queued() && parts.call.has_turn(context.waker()) {
                        timer.set(None);
                    }
                    if poll_timer(timer, context).is_pending() || held {
                        return Poll::Pending;
                    }
                    let action = parts.call.wake();
                    self.as_mut().act(action);
                }
                CallPhase::Pausing => {
                    let parts = self.as_mut().project();
                    ready!(poll_timer(parts.timer, context));
                    *parts.phase = CallPhase::Done;
                }
                CallPhase::Starting => {
                    self.as_mut().set_attempting();
                    return Poll::Ready(true);
                }
                CallPhase::Done => return Poll::Ready(false),
                CallPhase::Begin
                | CallPhase::Attempting
                | CallPhase::Limited
                | CallPhase::Ended => {
                    return Poll::Pending;
                }
            }
        }
    }

    /// The attempt that was decided on cannot be made.
    #[cold]
    pub(super) fn refuse(mut self: Pin<&mut Self>) {
        let action = self.as_mut().project().call.cancel();
        self.act(action);
    }

    /// The attempt under way takes time: ready when it took too much.
    #[inline(never)]
    pub(super) fn poll_limit(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut parts = self.project();
        if *parts.phase == CallPhase::Attempting {
            *parts.phase = CallPhase::Limited;
            let limit = parts.call.limit();
            parts.timer.set(limit.map(|span| parts.call.sleep(span)));
        }
        match parts.timer.as_pin_mut() {
            Some(timer) => timer.poll(context),
            None => Poll::Pending,
        }
    }

    /// The attempt under way succeeded, and was dropped.
    #[inline]
    pub(super) fn succeed(self: Pin<&mut Self>, outcome: &Outcome) {
        let parts = self.project();
        *parts.phase = CallPhase::Ended;
        if parts.record.is_reported() {
            let _end = parts.call.succeed_reported(parts.record, outcome);
        } else if parts.call.is_started() {
            parts.call.succeed(outcome);
        }
    }

    /// Whether a report is wanted, so that a success must be noted too.
    #[inline]
    pub(super) fn is_reported(&self) -> bool {
        self.record.is_reported()
    }

    /// The attempt under way succeeded, and was dropped; a report is wanted. Returns its end.
    #[cold]
    pub(super) fn report_success(self: Pin<&mut Self>, outcome: &Outcome) -> (Mark, NextStep) {
        let parts = self.project();
        *parts.phase = CallPhase::Ended;
        parts.call.succeed_reported(parts.record, outcome)
    }

    /// The attempt under way failed, and was dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(self: Pin<&mut Self>, outcome: &Outcome) {
        self.settle(outcome, true);
    }

    /// The attempt under way ran out of its time, and was dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn time_out(self: Pin<&mut Self>) {
        self.settle(&TIMED_OUT, false);
    }

    /// The attempt under way settled, without a result when it had none, and was dropped.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(
        mut self: Pin<&mut Self>,
        outcome: &Outcome,
        has_result: bool,
    ) -> (Mark, NextStep) {
        let parts = self.as_mut().project();
        let (action, mark) = parts.call.settle(outcome);
        parts.record.note(mark, outcome, has_result);
        let next = parts.call.next_step(&action);
        self.act(action);
        (mark, next)
    }

    /// The end of a call, with no reply to return if it is an error.
    #[cold]
    #[inline(never)]
    pub(super) fn end(self: Pin<&mut Self>) -> Box<CallEnd> {
        let parts = self.project();
        *parts.phase = CallPhase::Ended;
        let mut end = parts.record.end();
        parts.call.explain(&mut end);
        end
    }

    /// The error of a call that has ended with this last one.
    #[cold]
    #[inline(never)]
    pub(super) fn end_with<E>(self: Pin<&mut Self>, last: &mut Option<E>) -> Error<E> {
        Error::new(self.end(), last.take())
    }

    /// The facts of the attempt that was decided on.
    #[inline]
    pub(super) fn info(&self) -> AttemptInfo {
        self.call.info()
    }

    /// Carries out an action that does not concern copies.
    #[cold]
    pub(super) fn act(self: Pin<&mut Self>, action: Action<()>) {
        let mut parts = self.project();
        match action {
            Action::Attempt(()) => *parts.phase = CallPhase::Starting,
            Action::Wait(Wait::Until(at)) => {
                let timer = parts.call.sleep(parts.call.delay_until(at));
                parts.timer.set(Some(timer));
                *parts.phase = CallPhase::Waiting;
            }
            Action::Done(done) => parts.done(done),
            // The call has no copies, and is ended.
            Action::Hedge(()) | Action::Wait(Wait::Copies { .. }) => {
                if let Action::Done(done) = parts.call.cancel() {
                    parts.done(done);
                }
            }
        }
    }
}

impl<R, Z, L> StateParts<'_, '_, R, L, Z::Timer>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
{
    fn done(&mut self, done: Done) {
        self.record.set_done(done);
        *self.phase = CallPhase::Done;
        if !done.pause.is_zero() {
            let timer = self.call.sleep(done.pause);
            self.timer.set(Some(timer));
            *self.phase = CallPhase::Pausing;
        }
    }
}

/// Ready when there is no timer, or when it has ended.
fn poll_timer<W: Future<Output = ()>>(
    mut timer: Pin<&mut Option<W>>,
    context: &mut Context<'_>,
) -> Poll<()> {
    if let Some(running) = timer.as_mut().as_pin_mut() {
        ready!(running.poll(context));
        timer.set(None);
    }
    Poll::Ready(())
}
