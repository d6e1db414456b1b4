//! Commands for the task that owns the scheduler.

use std::fmt;

use tokio::sync::{mpsc, oneshot};

use super::scheduler_state::SchedulerState;
use crate::model::{AttemptAnswer, Delivery};
use crate::scheduler::Launch;

/// A command for the task that owns the scheduler.
pub(super) enum Command {
    /// These are durable now, and open.
    Add(Vec<Delivery>),
    /// An attempt is over.
    AttemptDone(Launch, AttemptResult),
    /// Something rare.
    Do(Box<dyn FnOnce(&mut SchedulerState) + Send>),
    /// There is room for more launches again.
    Resume,
}

/// The result of an attempt.
#[derive(Debug)]
pub(super) enum AttemptResult {
    /// An answer; `true` if the message was an operational event.
    Answer(AttemptAnswer, bool),
    /// Nothing: the payload was pruned.
    Gone,
}

/// The sender of commands to the task that owns the scheduler. Not bounded here: accepted messages,
/// slots and settled attempts are.
#[derive(Clone)]
pub(super) struct Inbox {
    commands: mpsc::UnboundedSender<Command>,
}

impl Inbox {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        (Self { commands }, receiver)
    }

    /// Sends a command. If the task has ended the command is dropped: everything that matters is in
    /// the store.
    pub(super) fn tell(&self, command: Command) {
        _ = self.commands.send(command);
    }

    /// Runs a function on the scheduler's task, and waits for its result; `None` when the task has
    /// ended.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut SchedulerState) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.tell(Command::Do(Box::new(move |state| {
            // The caller may have stopped waiting.
            _ = reply.send(question(state));
        })));
        answer.await.ok()
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox(..)")
    }
}
