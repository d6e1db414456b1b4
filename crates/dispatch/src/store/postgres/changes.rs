//! A running transaction, and the facts kept from one to the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use deadpool_postgres::Transaction;
use stagger::Instant;

use super::db_error::DbError;
use super::statement;
use crate::model::{Message, MessageId};
use crate::store::id_range::slack_of;
use crate::store::tally::CountChanges;

/// The running transaction.
pub(super) struct Changes<'c> {
    pub(super) db: Transaction<'c>,
    pub(super) memory: &'c Memory,
    pub(super) tally: CountChanges,
    /// Whether this was tried before and may hold already.
    pub(super) again: bool,
    /// The slack that this transaction writes down.
    pub(super) slack: u64,
}

/// Facts kept from one transaction to the next. They may be outdated: other nodes change the
/// database too.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By how many milliseconds ids and times of acceptance have differed at most, at least.
    slack: AtomicU64,
    pruned: Mutex<Option<Pruned>>,
}

/// The progress of pruning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pruned {
    pub(super) before: Instant,
    /// No message up to this one can be pruned.
    pub(super) to: MessageId,
}

impl Changes<'_> {
    /// Keeps the slack true for `messages`.
    pub(super) async fn widen_slack<'m>(
        &mut self,
        messages: impl Iterator<Item = &'m Message> + Send,
    ) -> Result<(), DbError> {
        let slack = messages.map(slack_of).max().unwrap_or_default();
        if slack > self.slack {
            let sql = "UPDATE mark SET value = $1 WHERE name = 'slack' AND value < $1";
            statement::run(&self.db, sql, &[&slack.cast_signed()]).await?;
            self.slack = slack;
        }
        Ok(())
    }

    /// Pruning has to look at `message` again.
    pub(super) fn lower_floor(&self, message: MessageId) {
        let mut pruned = self.memory.pruned();
        if pruned.is_some_and(|pruned| message <= pruned.to) {
            *pruned = None;
        }
    }
}

impl Memory {
    pub(super) fn slack(&self) -> u64 {
        self.slack.load(Ordering::Relaxed)
    }

    pub(super) fn widened(&self, slack: u64) {
        self.slack.fetch_max(slack, Ordering::Relaxed);
    }

    pub(super) fn pruned(&self) -> MutexGuard<'_, Option<Pruned>> {
        // It is whole between any two of its assignments.
        self.pruned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
