//! The operation of an async call: a closure that makes the future of each attempt.

use super::context::ContextSlot;
use super::{AttemptInfo, ContextGuard};

/// Makes the attempts of an async call: a closure, as [`retry`](crate::retry()) and
/// [`Retrier::retry`](crate::Retrier::retry) take it.
pub trait Operation {
    /// The future of one attempt.
    type Attempt;

    /// The future of the next attempt, which `info` tells about; none when the call must end before it.
    fn attempt(&mut self, info: impl FnOnce() -> AttemptInfo) -> Option<Self::Attempt>;
}

/// Makes the attempts of a blocking call: a closure, as [`Retrier::retry_blocking`](crate::Retrier::retry_blocking)
/// takes it.
pub trait BlockingOperation<T, E> {
    /// Makes the next attempt, which `info` tells about; `before` is the error of the one before.
    ///
    /// # Errors
    /// The operation's own.
    fn attempt(&mut self, info: impl FnOnce() -> AttemptInfo, before: Option<&E>) -> Result<T, E>;
}

/// An operation whose attempts may be under way side by side.
pub trait Independent: Operation {}

/// A closure that wants to know nothing.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(pub(super) F);

/// A closure that wants to know which attempt it is.
#[derive(Clone, Copy, Debug)]
pub struct Informed<F>(pub(super) F);

/// A closure whose attempts hand on a context.
#[derive(Debug)]
pub struct InContext<F, C> {
    op: F,
    slot: ContextSlot<C>,
}

impl<F, C> InContext<F, C> {
    pub(super) fn new(context: C, op: F) -> Self {
        Self { op, slot: ContextSlot::new(context) }
    }
}

impl<F, Fut> Operation for Plain<F>
where
    F: FnMut() -> Fut,
{
    type Attempt = Fut;

    #[inline]
    fn attempt(&mut self, _: impl FnOnce() -> AttemptInfo) -> Option<Fut> {
        Some((self.0)())
    }
}

impl<F, Fut> Operation for Informed<F>
where
    F: FnMut(AttemptInfo) -> Fut,
{
    type Attempt = Fut;

    #[inline]
    fn attempt(&mut self, info: impl FnOnce() -> AttemptInfo) -> Option<Fut> {
        Some((self.0)(info()))
    }
}

impl<F, Fut> Independent for Plain<F> where F: FnMut() -> Fut {}
impl<F, Fut> Independent for Informed<F> where F: FnMut(AttemptInfo) -> Fut {}

impl<F, T, E> BlockingOperation<T, E> for Plain<F>
where
    F: FnMut() -> Result<T, E>,
{
    #[inline]
    fn attempt(&mut self, _: impl FnOnce() -> AttemptInfo, _: Option<&E>) -> Result<T, E> {
        (self.0)()
    }
}

impl<F, T, E> BlockingOperation<T, E> for Informed<F>
where
    F: FnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
{
    #[inline]
    fn attempt(&mut self, info: impl FnOnce() -> AttemptInfo, before: Option<&E>) -> Result<T, E> {
        (self.0)(info(), before)
    }
}

impl<F, C, Fut> Operation for InContext<F, C>
where
    F: FnMut(ContextGuard<C>) -> Fut,
{
    type Attempt = Fut;

    fn attempt(&mut self, info: impl FnOnce() -> AttemptInfo) -> Option<Fut> {
        Some((self.op)(self.slot.take(info())?))
    }
}
