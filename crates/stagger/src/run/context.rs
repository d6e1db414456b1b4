//! A context that the attempts of one call change, handed from one to the next.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use super::AttemptInfo;

/// The context of an attempt, for [`Retrier::context`](crate::Retrier::context). Dropping it hands the context to the
/// next attempt; that also happens when a time limit drops the attempt.
#[derive(Debug)]
pub struct ContextGuard<C> {
    info: AttemptInfo,
    /// Empty only while it is dropped.
    context: Option<C>,
    slot: ContextSlot<C>,
}

/// The place of the context between two attempts.
#[derive(Debug)]
pub(super) struct ContextSlot<C>(Arc<Mutex<Option<C>>>);

impl<C> ContextSlot<C> {
    pub(super) fn new(context: C) -> Self {
        Self(Arc::new(Mutex::new(Some(context))))
    }

    /// Takes the context for an attempt; `None` while another one keeps it.
    pub(super) fn take(&self, info: AttemptInfo) -> Option<ContextGuard<C>> {
        let context = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(ContextGuard { info, context: Some(context), slot: Self(Arc::clone(&self.0)) })
    }
}

impl<C> ContextGuard<C> {
    /// The attempt that has the context: its number, and how much time is left.
    #[must_use]
    pub const fn info(guard: &Self) -> AttemptInfo {
        guard.info
    }
}

impl<C> Deref for ContextGuard<C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.context.as_ref().expect("it is empty only while it is dropped")
    }
}

impl<C> DerefMut for ContextGuard<C> {
    fn deref_mut(&mut self) -> &mut C {
        self.context.as_mut().expect("it is empty only while it is dropped")
    }
}

impl<C> Drop for ContextGuard<C> {
    fn drop(&mut self) {
        *self.slot.0.lock().unwrap_or_else(PoisonError::into_inner) = self.context.take();
    }
}
