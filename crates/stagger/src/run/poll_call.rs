//! The driver of every async call: starts and polls its attempts, waits, and asks the call what follows.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::retry::{Action, Done, Launched, Ledger, Wait};
use stagger_core::{Instant, Outcome, Verdict};

use super::active_call::ActiveCall;
use super::attempt_source::{AttemptEvent, AttemptSource};
use super::call_record::CallRecord;
use super::classifier::Classifier;
use super::classify::TIMED_OUT;
use super::history::Mark;
use super::{AttemptEnd, AttemptInfo, CallReport, Error, Retrier};
use crate::clock::Sleep;

/// A call with all that its driver keeps beside the attempts. `W` is a timer.
pub(crate) struct CallDriver<'r, R, L, J, T, E, W> {
    pub(super) call: ActiveCall<R, L>,
    pub(super) record: CallRecord<'r, T, E>,
    classifier: J,
    pub(super) phase: CallPhase<W>,
}

/// The phase of a driver. Timers are boxed, because they are larger than all else and few calls need
/// one.
pub(crate) enum CallPhase<W> {
    Begin,
    Attempting(AttemptTimer<W>),
    /// The timer is gone once it has ended; the classifier may need longer.
    Waiting(Option<Pin<Box<W>>>),
    /// All is decided; the caller is kept back for a while.
    Pausing(Box<(Pin<Box<W>>, Done)>),
    Ended,
}

/// The time limit of the attempt under way.
pub(crate) enum AttemptTimer<W> {
    /// The attempt has not yet turned out to take time.
    Unasked,
    Unlimited,
    Running(Pin<Box<W>>),
}

impl<W> CallPhase<W> {
    /// The attempt under way takes time: ready when it took too much.
    pub(super) fn poll_limit<R, Z, L>(
        &mut self,
        call: &mut ActiveCall<R, L>,
        context: &mut Context<'_>,
    ) -> Poll<()>
    where
        R: Deref<Target = Retrier<Z, L>>,
        Z: Sleep<Timer = W>,
        W: Future<Output = ()>,
        for<'l> &'l L: Ledger,
    {
        let Self::Attempting(timer) = self else { return Poll::Pending };
        if let AttemptTimer::Unasked = timer {
            let limit = call.limit().map(|span| Box::pin(call.sleep(span)));
            *timer = limit.map_or(AttemptTimer::Unlimited, AttemptTimer::Running);
        }
        match timer {
            AttemptTimer::Running(timer) => timer.as_mut().poll(context),
            AttemptTimer::Unasked | AttemptTimer::Unlimited => Poll::Pending,
        }
    }
}

impl<'r, R, L, J, T, E, W> CallDriver<'r, R, L, J, T, E, W> {
    pub(crate) const fn new(
        call: ActiveCall<R, L>,
        classifier: J,
        report: Option<&'r mut CallReport>,
    ) -> Self {
        Self { call, record: CallRecord::new(report), classifier, phase: CallPhase::Begin }
    }
}

impl<R, Z, L, J, T, E> CallDriver<'_, R, L, J, T, E, Z::Timer>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
{
    /// Polls the call until it has ended.
    #[inline]
    pub(crate) fn poll_call<A: AttemptSource<T, E>>(
        &mut self,
        mut attempts: Pin<&mut A>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, Error<E>>> {
        loop {
            if let Some(end) = ready!(self.poll_until_attempt(attempts.as_mut(), context)) {
                return Poll::Ready(end);
            }
            let action = match attempts.as_mut().poll(self.call.time(), context) {
                Poll::Ready(AttemptEvent::Ended(result)) => {
                    match self.on_result(attempts.as_mut(), result) {
                        Ok(value) => return Poll::Ready(Ok(value)),
                        Err(action) => action,
                    }
                }
                #[cfg(feature = "tower")]
                Poll::Ready(AttemptEvent::Classified(result, outcome)) => {
                    self.settle(attempts.as_mut(), result, outcome)
                }
                Poll::Ready(AttemptEvent::CopyEnded(launched, since, result)) => {
                    match self.on_copy(attempts.as_mut(), (launched, since), result) {
                        Ok(value) => return Poll::Ready(Ok(value)),
                        Err(action) => action,
                    }
                }
                Poll::Ready(AttemptEvent::HedgeDue) => self.call.wake(),
                Poll::Pending if A::HEDGED => return Poll::Pending,
                Poll::Pending => {
                    ready!(self.phase.poll_limit(&mut self.call, context));
                    self.settle(attempts.as_mut(), None, TIMED_OUT)
                }
            };
            if let Some(done) = self.act(attempts.as_mut(), action) {
                return Poll::Ready(self.end(attempts, done));
            }
        }
    }

    /// Ready when an attempt is under way, or with the end of the call.
    #[inline]
    pub(super) fn poll_until_attempt<A: AttemptSource<T, E>>(
        &mut self,
        mut attempts: Pin<&mut A>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, Error<E>>>> {
        loop {
            let action = match &mut self.phase {
                CallPhase::Attempting(_) => return Poll::Ready(None),
                CallPhase::Begin if A::HEDGED => self.call.begin_hedged(),
                CallPhase::Begin => self.call.begin(self.record.is_reported()),
                CallPhase::Waiting(timer) => {
                    attempts.as_mut().while_waiting(self.record.reply(), context);
                    let classified = self.classifier.poll_waiting(context);
                    if timer.as_mut().is_some_and(|it| it.as_mut().poll(context).is_ready()) {
                        *timer = None;
                    }
                    if timer.is_some() || classified.is_pending() {
                        return Poll::Pending;
                    }
                    self.call.wake()
                }
                CallPhase::Pausing(pause) => {
                    ready!(pause.0.as_mut().poll(context));
                    let done = pause.1;
                    return Poll::Ready(Some(self.end(attempts, done)));
                }
                CallPhase::Ended => return Poll::Pending,
            };
            if let Some(done) = self.act(attempts.as_mut(), action) {
                return Poll::Ready(Some(self.end(attempts, done)));
            }
        }
    }

    /// Classifies the result of the attempt under way: the value that ends the call, or what follows.
    #[inline]
    pub(super) fn on_result<A: AttemptSource<T, E>>(
        &mut self,
        attempts: Pin<&mut A>,
        result: Result<T, E>,
    ) -> Result<T, Action<AttemptInfo>> {
        let outcome = self.classifier.classify(&result);
        match result {
            Ok(value) if outcome.verdict == Verdict::Ok && !self.record.is_reported() => {
                self.phase = CallPhase::Ended;
                attempts.clear();
                self.call.succeed(&outcome);
                Ok(value)
            }
            result => Err(self.settle(attempts, Some(result), outcome)),
        }
    }

    /// The attempt under way settled, without a result when it had none.
    #[cold]
    pub(super) fn settle<A: AttemptSource<T, E>>(
        &mut self,
        mut attempts: Pin<&mut A>,
        result: Option<Result<T, E>>,
        mut outcome: Outcome,
    ) -> Action<AttemptInfo> {
        // An attempt ends before its permits go back.
        attempts.as_mut().clear();
        outcome.replayable &= attempts.is_replayable();
        let (action, mark) = self.call.settle(&outcome);
        self.observe((&action, mark), result.as_ref(), &outcome);
        self.record.note(mark, result, &outcome);
        action
    }

    /// One of several copies settled: the value that ends the call, or what follows.
    fn on_copy<A: AttemptSource<T, E>>(
        &mut self,
        attempts: Pin<&mut A>,
        (launched, since): (Launched, Instant),
        result: Option<Result<T, E>>,
    ) -> Result<T, Action<AttemptInfo>> {
        let outcome = result.as_ref().map_or(TIMED_OUT, |result| self.classifier.classify(result));
        if outcome.verdict == Verdict::Ok {
            self.call.record_latency(since);
        }
        let (action, mark) = self.call.settle_copy(launched, &outcome);
        self.observe((&action, mark), result.as_ref(), &outcome);
        match result {
            Some(Ok(value)) if outcome.verdict == Verdict::Ok && !self.record.is_reported() => {
                self.phase = CallPhase::Ended;
                attempts.clear();
                Ok(value)
            }
            result => {
                self.record.note(mark, result, &outcome);
                Err(action)
            }
        }
    }

    /// Shows the classifier what follows an attempt.
    fn observe(
        &mut self,
        (action, mark): (&Action<AttemptInfo>, Mark),
        result: Option<&Result<T, E>>,
        outcome: &Outcome,
    ) {
        let next = self.call.next_step(action);
        self.classifier.on_attempt(&AttemptEnd::new((mark, next), result, outcome));
    }

    /// Carries out an action; the end of the call, if it is that.
    #[inline]
    pub(super) fn act<A: AttemptSource<T, E>>(
        &mut self,
        mut attempts: Pin<&mut A>,
        mut action: Action<AttemptInfo>,
    ) -> Option<Done> {
        loop {
            match action {
                Action::Attempt(info) => {
                    if A::HEDGED {
                        attempts.as_mut().clear();
                    }
                    if self.start(attempts.as_mut(), info) {
                        return None;
                    }
                }
                Action::Hedge(info) if A::HEDGED && self.start(attempts.as_mut(), info) => {
                    return None;
                }
                Action::Wait(Wait::Copies { hedge_at }) if A::HEDGED => {
                    attempts.await_copies(hedge_at);
                    self.phase = CallPhase::Attempting(AttemptTimer::Unasked);
                    return None;
                }
                Action::Wait(Wait::Until(at)) => {
                    attempts.before_wait();
                    let timer = self.call.sleep(self.call.delay_until(at));
                    self.phase = CallPhase::Waiting(Some(Box::pin(timer)));
                    return None;
                }
                Action::Done(done) if done.pause.is_zero() => return Some(done),
                Action::Done(done) => {
                    attempts.clear();
                    let timer = Box::pin(self.call.sleep(done.pause));
                    self.phase = CallPhase::Pausing(Box::new((timer, done)));
                    return None;
                }
                // The call has no copies.
                Action::Hedge(_) | Action::Wait(Wait::Copies { .. }) => {}
            }
            action = self.call.cancel();
        }
    }

    #[inline]
    fn start<A: AttemptSource<T, E>>(&mut self, attempts: Pin<&mut A>, info: AttemptInfo) -> bool {
        let launched = if A::HEDGED { self.call.take_launched() } else { None };
        self.phase = CallPhase::Attempting(AttemptTimer::Unasked);
        attempts.start(info, launched, self.call.time())
    }

    #[cold]
    pub(super) fn end<A: AttemptSource<T, E>>(
        &mut self,
        mut attempts: Pin<&mut A>,
        done: Done,
    ) -> Result<T, Error<E>> {
        attempts.as_mut().clear();
        self.phase = CallPhase::Ended;
        let mut result = std::mem::replace(&mut self.record, CallRecord::new(None)).end(done);
        if let Ok(reply) = &mut result {
            attempts.explain(reply, done);
        }
        result
    }
}

pin_project! {
    /// An async call under way: its attempts, and their driver.
    ///
    /// A type with a name, because nested unnamed futures that borrow are not seen to be `Send`
    /// (rust-lang/rust #110338).
    pub(crate) struct CallFuture<A, D> {
        // Dropped in this order: an attempt ends before its permits go back.
        #[pin]
        attempts: A,
        driver: D,
    }
}

impl<A, D> CallFuture<A, D> {
    pub(crate) const fn new(attempts: A, driver: D) -> Self {
        Self { attempts, driver }
    }
}

impl<A, R, Z, L, J, T, E> Future for CallFuture<A, CallDriver<'_, R, L, J, T, E, Z::Timer>>
where
    A: AttemptSource<T, E>,
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
{
    type Output = Result<T, Error<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let parts = self.project();
        parts.driver.poll_call(parts.attempts, context)
    }
}
