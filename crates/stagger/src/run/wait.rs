//! The wait between two attempts, which ends when the classifier has finished with the attempt before.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Classifier;

/// A timer that is not polled again after its end.
///
/// Boxed, because a timer is larger than all else and few calls need one.
pub(crate) struct Timer<F>(Option<Pin<Box<F>>>);

impl<F: Future<Output = ()>> Timer<F> {
    pub(crate) fn new(timer: F) -> Self {
        Self(Some(Box::pin(timer)))
    }

    /// Ready when the time has passed and `classifier` is ready for the next attempt.
    pub(crate) fn poll_with<T, E>(
        &mut self,
        classifier: &mut impl Classifier<T, E>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let waiting = classifier.poll_waiting(context);
        if self.0.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready()) {
            self.0 = None;
        }
        if self.0.is_none() { waiting } else { Poll::Pending }
    }
}

/// The wait of a call that borrows its classifier.
///
/// A type with a name, because nested unnamed futures that borrow are not seen to be `Send`
/// (rust-lang/rust #110338).
pub(super) struct Wait<'a, J, F, T, E> {
    classifier: &'a mut J,
    timer: Timer<F>,
    /// The result that is classified; nothing of it is held.
    results: PhantomData<fn(T, E)>,
}

impl<'a, J: Classifier<T, E>, F: Future<Output = ()>, T, E> Wait<'a, J, F, T, E> {
    pub(super) fn new(classifier: &'a mut J, timer: F) -> Self {
        Self { classifier, timer: Timer::new(timer), results: PhantomData }
    }
}

impl<J: Classifier<T, E>, F: Future<Output = ()>, T, E> Future for Wait<'_, J, F, T, E> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { classifier, timer, .. } = self.get_mut();
        timer.poll_with(*classifier, context)
    }
}
