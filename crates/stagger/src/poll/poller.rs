//! The loop that looks again until it is ready.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use stagger_core::{Backoff, ConfigError, HintRule, Instant, Span};

use super::{PollError, PollStop, Progress};
use crate::cancel::Cancel;
use crate::clock::{Clock, Pause, Sleep};
use crate::rng::{OsEntropy, Rng};

/// The time that must be left after a wait for another look: at the deadline itself it is too late.
const INSTANT: Span = Span::from_nanos(1);

/// Looks again and again until something is ready.
///
/// An error ends it: an attempt that may fail for a moment is a call of its own, to be made by a
/// [`Retrier`](crate::Retrier) inside the operation.
///
/// ```
/// use stagger::{Backoff, Poller, Progress, Span, StdTime};
/// let delay = Backoff::exponential(Span::from_millis(1), Span::from_millis(4))?;
/// let poller = Poller::new(delay, Span::from_secs(60), StdTime)?;
/// let mut looks = 0;
/// let job = poller.run_blocking(|| {
///     looks += 1;
///     Ok::<_, ()>(if looks < 3 { Progress::NOT_YET } else { Progress::Ready("done") })
/// });
/// assert_eq!(job, Ok("done"));
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a poller does nothing until it is run"]
pub struct Poller<Z> {
    backoff: Backoff,
    deadline: Span,
    max_attempts: u32,
    seed: Option<u64>,
    cancel: Option<Cancel>,
    time: Z,
}

impl<Z> Poller<Z> {
    /// Looks after delays by `backoff`, fixed or growing, for as long as `deadline`.
    ///
    /// # Errors
    /// A base or a deadline of zero: the one would be a hot loop, the other leaves no time to look.
    pub fn new(backoff: Backoff, deadline: impl Into<Span>, time: Z) -> Result<Self, ConfigError> {
        let deadline = deadline.into();
        for (field, span) in [("backoff.base", backoff.base()), ("limits.deadline", deadline)] {
            if span.is_zero() {
                return Err(ConfigError::new(field, span, "above zero for a poll"));
            }
        }
        Ok(Self { backoff, deadline, max_attempts: u32::MAX, seed: None, cancel: None, time })
    }

    /// Limits the number of looks; at least one. Default: as many as the deadline allows.
    pub const fn max_attempts(mut self, looks: u32) -> Self {
        self.max_attempts = looks;
        self
    }

    /// Draws from a fixed seed, for tests. Default: the operating system's.
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Ends a blocking poll when `cancel` is used. An async one is ended by dropping its future.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = Some(cancel.clone());
        self
    }

    /// Looks by `op` until it is ready.
    ///
    /// # Errors
    /// When an attempt failed, or a limit was reached; the error says which.
    pub async fn run<T, E, F, Fut>(&self, mut op: F) -> Result<T, PollError<E>>
    where
        Z: Sleep,
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<Progress<T>, E>>,
    {
        let mut run = PollRun::start(self.time.now());
        loop {
            let looked = self.look(&run, op()).await;
            match self.settle(&mut run, looked)? {
                PollStep::Ready(value) => return Ok(value),
                PollStep::Wait(delay) => {
                    let until = self.time.now() + delay;
                    while self.time.now() < until {
                        self.time.sleep(until - self.time.now()).await;
                    }
                    self.wake(&run)?;
                }
            }
        }
    }

    /// Looks by `op` on this thread until it is ready. Nothing can interrupt an attempt.
    ///
    /// # Errors
    /// As for [`run`](Self::run); also when cancelled.
    pub fn run_blocking<T, E, F>(&self, mut op: F) -> Result<T, PollError<E>>
    where
        Z: Pause,
        F: FnMut() -> Result<Progress<T>, E>,
    {
        let mut run = PollRun::start(self.time.now());
        loop {
            if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
                return Err(run.end(self.time.now(), PollStop::Cancelled, None));
            }
            match self.settle(&mut run, Some(op()))? {
                PollStep::Ready(value) => return Ok(value),
                PollStep::Wait(delay) => self.time.pause(delay, self.cancel.as_ref()),
            }
            if !self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
                self.wake(&run)?;
            }
        }
    }

    /// Makes an attempt: its result, or `None` when the deadline comes first.
    async fn look<F: Future>(&self, run: &PollRun, attempt: F) -> Option<F::Output>
    where
        Z: Sleep,
    {
        let mut attempt = pin!(attempt);
        loop {
            let left = self.deadline - run.elapsed(self.time.now());
            let looked = within(self.time.sleep(left), attempt.as_mut()).await;
            // A timer that ended early is started again for the rest.
            if looked.is_some() || run.elapsed(self.time.now()) >= self.deadline {
                return looked;
            }
        }
    }

    /// The wait is over. One that took longer than asked for (a suspended machine) may have taken
    /// all the time there was.
    fn wake<E>(&self, run: &PollRun) -> Result<(), PollError<E>>
    where
        Z: Clock,
    {
        let now = self.time.now();
        if run.elapsed(now) < self.deadline {
            return Ok(());
        }
        Err(run.end(now, PollStop::DeadlineExceeded, None))
    }

    /// Decides what follows an attempt, which saw nothing when its time ran out.
    fn settle<T, E>(
        &self,
        run: &mut PollRun,
        looked: Option<Result<Progress<T>, E>>,
    ) -> Result<PollStep<T>, PollError<E>>
    where
        Z: Clock,
    {
        let now = self.time.now();
        run.attempts = run.attempts.saturating_add(1);
        match looked {
            Some(Ok(Progress::Ready(value))) => return Ok(PollStep::Ready(value)),
            Some(Ok(Progress::NotYet { hint })) => run.hint = hint,
            Some(Err(error)) => return Err(run.end(now, PollStop::Failed, Some(error))),
            None => return Err(run.end(now, PollStop::DeadlineExceeded, None)),
        }
        if run.attempts >= self.max_attempts {
            return Err(run.end(now, PollStop::AttemptsExhausted, None));
        }
        let (least, delay) = self.delay(run);
        // The spread of a hint is cut where it alone would pass the deadline.
        let room = self.deadline - run.elapsed(now) - INSTANT;
        if least <= room {
            Ok(PollStep::Wait(delay.min(room)))
        } else {
            Err(run.end(now, PollStop::DeadlineExceeded, None))
        }
    }

    /// The least to wait, and what is waited if there is room.
    fn delay(&self, run: &mut PollRun) -> (Span, Span) {
        let mut seeded =
            self.seed.map(|seed| Rng::with_seed(seed.wrapping_add(run.attempts.into())));
        let mut entropy = || match &mut seeded {
            Some(rng) => stagger_core::Entropy::next_u64(rng),
            None => stagger_core::Entropy::next_u64(&mut OsEntropy),
        };
        let own = self.backoff.delay(
            run.attempts,
            run.delay.unwrap_or(self.backoff.base()),
            &mut entropy,
        );
        run.delay = Some(own);
        let Some(hint) = run.hint else { return (own, own) };
        // The deadline bounds the hint, so there is no need of a longest one.
        (own.max(hint), HintRule::default().delay(own, hint, &mut entropy))
    }
}

enum PollStep<T> {
    Ready(T),
    Wait(Span),
}

/// One poll under way.
struct PollRun {
    started: Instant,
    attempts: u32,
    delay: Option<Span>,
    hint: Option<Span>,
}

impl PollRun {
    const fn start(started: Instant) -> Self {
        Self { started, attempts: 0, delay: None, hint: None }
    }

    fn elapsed(&self, now: Instant) -> Span {
        now - self.started
    }

    fn end<E>(&self, now: Instant, stop: PollStop, error: Option<E>) -> PollError<E> {
        let (attempts, hint) = (self.attempts, self.hint);
        PollError { stop, attempts, elapsed: self.elapsed(now), hint, error }
    }
}

/// The attempt's result, or nothing when the timer ends first.
async fn within<F: Future>(timer: impl Future<Output = ()>, attempt: F) -> Option<F::Output> {
    let (mut timer, mut attempt) = (pin!(timer), pin!(attempt));
    poll_fn(|context| match attempt.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => timer.as_mut().poll(context).map(|()| None),
    })
    .await
}
