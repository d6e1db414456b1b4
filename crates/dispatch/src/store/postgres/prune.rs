//! Old messages go.

use std::collections::BTreeSet;

use stagger::Instant;
use uuid::Uuid;

use super::changes::{Changes, Pruned};
use super::column::{from_instant, from_size, get, message_id, name};
use super::days::{OTHER, day_of};
use super::db_error::DbError;
use super::lists;
use super::statement;
use super::writer::Change;
use crate::model::{EndpointId, MessageId};
use crate::store::encoding::state;
use crate::store::id_range::IdRange;

/// Messages that one step deletes at most: some milliseconds of work.
const STEP: usize = 256;

/// The result of one step of pruning.
#[derive(Clone, Copy, Debug)]
pub(super) struct PruneStep {
    /// Messages deleted.
    pub(super) deleted: usize,
    /// Whether there may be more.
    pub(super) more: bool,
}

/// Deletes some finished messages accepted before `before`, oldest first, `limit` at most.
pub(super) struct Prune {
    pub(super) before: Instant,
    pub(super) limit: usize,
}

impl Change for Prune {
    type Done = PruneStep;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<PruneStep, DbError> {
        let limit = self.limit.min(STEP);
        let from = changes.memory.pruned().filter(|pruned| pruned.before == self.before);
        let from = from.map_or(Uuid::nil(), |pruned| *pruned.to.as_uuid());
        let slack = lists::read_slack(&changes.db).await?;
        let to = IdRange::of(slack, None, Some(self.before)).to;
        let sql = "SELECT m.id FROM message m WHERE m.id >= $1 AND m.id <= $2 AND m.created_at < $3 \
                   AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.ended = 0) \
                   ORDER BY m.id LIMIT $4 FOR UPDATE OF m";
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&from, to.as_uuid(), &from_instant(self.before), &from_size(limit)];
        let found = statement::rows(&changes.db, sql, &bound).await?;
        let found: Vec<_> = found.iter().map(|row| message_id(row, 0)).collect::<Result<_, _>>()?;
        let deleted = changes.delete_finished(&found).await?;
        let more = found.len() == limit;
        let reached = found.last().filter(|_| more);
        *changes.memory.pruned() = reached.map(|to| Pruned { before: self.before, to: *to });
        Ok(PruneStep { deleted, more })
    }
}

impl Changes<'_> {
    /// Deletes messages without open deliveries, except their attempts, which are deleted by the
    /// day; returns their number.
    async fn delete_finished(&mut self, messages: &[MessageId]) -> Result<usize, DbError> {
        let ids: Vec<_> = messages.iter().map(|id| *id.as_uuid()).collect();
        // A replay may have come in between; from here on it waits.
        let sql = "SELECT message, ended FROM delivery WHERE message = ANY($1) \
                   ORDER BY message, endpoint FOR UPDATE";
        let mut open = BTreeSet::new();
        for row in statement::rows(&self.db, sql, &[&ids]).await? {
            if get::<i16>(&row, 1)? == 0 {
                open.insert(message_id(&row, 0)?);
            }
        }
        let finished: Vec<_> = messages.iter().filter(|id| !open.contains(id)).copied().collect();
        let days: BTreeSet<_> = finished.iter().map(|id| day_of(*id)).collect();
        let (days, ids): (Vec<_>, Vec<_>) =
            (days.into_iter().collect(), finished.iter().map(|id| *id.as_uuid()).collect());
        let sql = format!("DELETE FROM {OTHER} WHERE day = ANY($1) AND message = ANY($2)");
        statement::run(&self.db, &sql, &[&days, &ids]).await?;
        self.delete_messages(&finished).await?;
        Ok(finished.len())
    }

    /// Deletes messages with their payloads and deliveries.
    pub(super) async fn delete_messages(&mut self, messages: &[MessageId]) -> Result<(), DbError> {
        let ids: Vec<_> = messages.iter().map(|id| *id.as_uuid()).collect();
        let sql = "DELETE FROM delivery WHERE message = ANY($1) RETURNING message, endpoint, state";
        for row in statement::rows(&self.db, sql, &[&ids]).await? {
            let (_, endpoint): (MessageId, EndpointId) = name(&row, 0)?;
            self.tally.remove(endpoint, state(get::<i16>(&row, 2)?.into())?);
        }
        self.drop_arrivals(messages).await?;
        let payloads = "DELETE FROM payload WHERE message = ANY($1)";
        statement::run(&self.db, payloads, &[&ids]).await?;
        statement::run(&self.db, "DELETE FROM message WHERE id = ANY($1)", &[&ids]).await?;
        Ok(())
    }

    /// Deletes the attempts of messages one by one, without waiting for their day.
    pub(super) async fn delete_attempts(&self, messages: &[MessageId]) -> Result<(), DbError> {
        let days: BTreeSet<_> = messages.iter().map(|id| day_of(*id)).collect();
        let days: Vec<_> = days.into_iter().collect();
        let ids: Vec<_> = messages.iter().map(|id| *id.as_uuid()).collect();
        let sql = "DELETE FROM attempt WHERE day = ANY($1) AND message = ANY($2)";
        statement::run(&self.db, sql, &[&days, &ids]).await?;
        Ok(())
    }
}
