//! The attempts that were launched and have not run yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scheduler_state::{Command, Inbox};

/// The most attempts that wait for their first turn on the node's threads.
///
/// A task's first turn comes after those of all tasks that were ready before it. More launches at that time would make
/// the queue of ready tasks longer, and not faster, and everything waits in it: a request of another tenant as well as
/// its attempt. So the backlog of a busy tenant waits in the scheduler, which is fair, and not in that queue.
const MOST: usize = 32;
/// The number at which launches go on: several at a time, so that the scheduler's task wakes for a few of them and not
/// for each.
const RESUME: usize = MOST / 2;

/// Counts attempts from their launch to their first turn.
#[derive(Clone, Debug)]
pub(super) struct StartingAttempts {
    count: Arc<AtomicUsize>,
    /// Launches wait there while there are too many.
    inbox: Inbox,
}

/// An attempt that has not run yet. It has, or never will, when this is dropped.
#[derive(Debug)]
#[must_use = "the attempt counts as started when this is dropped"]
pub(super) struct StartingAttempt(StartingAttempts);

impl StartingAttempts {
    pub(super) fn new(inbox: Inbox) -> Self {
        Self { count: Arc::default(), inbox }
    }

    /// Whether no more may be launched now. Then a command comes when they may.
    pub(super) fn is_full(&self) -> bool {
        self.count.load(Ordering::Acquire) >= MOST
    }

    /// For the scheduler's task only.
    pub(super) fn begin(&self) -> StartingAttempt {
        self.count.fetch_add(1, Ordering::AcqRel);
        StartingAttempt(self.clone())
    }
}

impl Drop for StartingAttempt {
    fn drop(&mut self) {
        // Only the scheduler's task adds some, and it adds none while it waits: so the number passes here once.
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == RESUME + 1 {
            self.0.inbox.tell(Command::Resume);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_backlog_was_launched_before_the_first_attempt_ran() {
        let (inbox, mut commands) = Inbox::new();
        let starting = StartingAttempts::new(inbox);
        let mut launched = Vec::new();
        while !starting.is_full() {
            launched.push(starting.begin());
        }
        assert_eq!(launched.len(), MOST);
        launched.truncate(RESUME + 1);
        assert!(commands.try_recv().is_err());
        drop(launched.pop());
        assert!(matches!(commands.try_recv(), Ok(Command::Resume)));
        assert!(!starting.is_full());
        drop(launched);
        assert!(commands.try_recv().is_err(), "one command is enough");
    }
}
