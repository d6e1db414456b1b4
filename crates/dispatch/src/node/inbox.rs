//! Commands for the task that owns the scheduler.

use std::fmt;

use tokio::sync::{mpsc, oneshot};

use super::runner::Runner;
use crate::model::{Answer, Delivery};
use crate::scheduler::Launch;

/// A command for the task that owns the scheduler.
pub(super) enum Command {
    /// These are durable now, and open.
    Add(Vec<Delivery>),
    /// An attempt is over.
    AttemptDone(Launch, AttemptResult),
    /// Something rare.
    Do(Box<dyn FnOnce(&mut Runner) + Send>),
    /// There is room for more launches again.
    Resume,
}

/// The result of an attempt.
#[derive(Debug)]
pub(super) enum AttemptResult {
    /// An answer; whether the message was one of the dispatcher's own.
    Answer(Answer, bool),
    /// Nothing: the payload was pruned.
    Gone,
}

/// The way to the task that owns the floor. Not bounded here: accepted messages, slots and settled
/// attempts are.
#[derive(Clone)]
pub(super) struct Inbox {
    commands: mpsc::UnboundedSender<Command>,
}

impl Inbox {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, receiver) = mpsc::unbounded_channel();
        (Self { commands }, receiver)
    }

    /// Tells it. When the task has ended nobody needs to know: all that matters is in the store.
    pub(super) fn tell(&self, command: Command) {
        _ = self.commands.send(command);
    }

    /// Lets the task do something with the floor, and waits for its result; `None` when it has ended.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Runner) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.tell(Command::Do(Box::new(move |runner| {
            // Whoever has stopped waiting does not want it any more.
            _ = reply.send(question(runner));
        })));
        answer.await.ok()
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inbox(..)")
    }
}
