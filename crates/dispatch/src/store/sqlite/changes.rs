//! A running transaction: the state that its changes share.

use rusqlite::Connection;
use uuid::Uuid;

use super::slack;
use crate::model::{Message, MessageId};
use crate::store::id_range::slack_of;
use crate::store::tally::CountChanges;

/// The facts that the writer keeps from one transaction to the next.
#[derive(Debug)]
pub(super) struct Memory {
    /// Every message before this one has an open delivery: pruning begins here.
    pub(super) floor: MessageId,
    /// Whether something was deleted since the store was opened, so that messages may still come
    /// for it.
    pub(super) deleted: bool,
    /// By how many milliseconds ids and times of acceptance have differed at most.
    slack: u64,
}

/// The running transaction.
#[derive(Debug)]
pub(super) struct Changes<'c> {
    pub(super) db: &'c Connection,
    pub(super) memory: &'c mut Memory,
    pub(super) tally: CountChanges,
}

const FIRST: MessageId = MessageId::from_uuid(Uuid::nil());

impl Memory {
    /// The facts at the beginning.
    pub(super) fn load(db: &Connection) -> rusqlite::Result<Self> {
        Ok(Self { floor: FIRST, deleted: false, slack: slack::read(db)? })
    }

    /// Discards the facts of a transaction that was rolled back.
    pub(super) const fn rolled_back(&mut self) {
        self.floor = FIRST;
        // The next message with any difference writes it again.
        self.slack = 0;
    }
}

impl Changes<'_> {
    /// Pruning has to look at `message` again.
    pub(super) fn lower_floor(&mut self, message: MessageId) {
        self.memory.floor = self.memory.floor.min(message);
    }

    /// Keeps the slack true for `message`.
    pub(super) fn widen_slack(&mut self, message: &Message) -> rusqlite::Result<()> {
        let slack = slack_of(message);
        if slack > self.memory.slack {
            slack::widen(self.db, slack)?;
            self.memory.slack = slack;
        }
        Ok(())
    }
}
