//! Deletions: finished messages that are old, and what belonged to a deleted application or endpoint.

use std::collections::BTreeSet;

use stagger::Instant;
use stagger_scheduler::model::{ApplicationId, EndpointId, MessageId};
use uuid::Uuid;

use super::days::{OTHER, day_of};
use super::pool::PostgresPool;
use super::row::{
    application_id, endpoint_id, from_instant, from_size, get, instant, message_id, name,
};
use super::statement::DbError;
use super::tenants::{SweepApplication, SweepEndpoint};
use super::writer::{Change, Changes, PostgresWriter, Pruned, SELDOM};
use super::{lists, statement};
use crate::Error;
use crate::calls::is_open;
use crate::encoding::state;
use crate::walk::IdRange;

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

/// Deletes some finished messages of an application, or of all, accepted before `before`, oldest first, `limit` at
/// most.
pub(super) struct Prune {
    pub(super) of: Option<ApplicationId>,
    pub(super) before: Instant,
    pub(super) limit: usize,
}

impl Change for Prune {
    type Done = PruneStep;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<PruneStep, DbError> {
        let limit = self.limit.min(STEP);
        let from = changes
            .memory
            .pruned()
            .filter(|pruned| (pruned.of, pruned.before) == (self.of, self.before));
        let from = from.map_or(Uuid::nil(), |pruned| *pruned.to.as_uuid());
        let slack = lists::read_slack(&changes.db).await?;
        let to = IdRange::of(slack, None, Some(self.before)).to;
        let (before, limited) = (from_instant(self.before), from_size(limit));
        let mut bound: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> =
            vec![&from, to.as_uuid(), &before, &limited];
        if let Some(of) = &self.of {
            bound.push(of.as_uuid());
        }
        let found = statement::rows(&changes.db, old_sql(self.of), &bound).await?;
        let found: Vec<_> = found.iter().map(|row| message_id(row, 0)).collect::<Result<_, _>>()?;
        let deleted = changes.delete_finished(&found).await?;
        if self.of.is_some() {
            // Their day has messages of others, which are kept for longer.
            changes.delete_attempts(&found).await?;
        }
        let more = found.len() == limit;
        let reached = found.last().filter(|_| more);
        *changes.memory.pruned() =
            reached.map(|to| Pruned { of: self.of, before: self.before, to: *to });
        Ok(PruneStep { deleted, more })
    }
}

/// The walk over the finished messages of an application, or of all: each along an index that has them in order.
const fn old_sql(of: Option<ApplicationId>) -> &'static str {
    match of {
        None => {
            "SELECT m.id FROM message m WHERE m.id >= $1 AND m.id <= $2 AND m.created_at < $3 \
             AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.ended = 0) \
             ORDER BY m.id LIMIT $4 FOR UPDATE OF m"
        }
        Some(_) => {
            "SELECT m.id FROM message m WHERE m.application = $5 AND m.id >= $1 AND m.id <= $2 \
             AND m.created_at < $3 \
             AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.ended = 0) \
             ORDER BY m.id LIMIT $4 FOR UPDATE OF m"
        }
    }
}

/// Deletes the payload of a message without open deliveries, and the replies of its attempts; whether the message was
/// there.
pub(super) struct DeletePayload(pub(super) MessageId);

impl Change for DeletePayload {
    type Done = bool;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<bool, DbError> {
        let id = self.0.as_uuid();
        let sql = "SELECT 1 FROM message WHERE id = $1 FOR UPDATE";
        if statement::row(&changes.db, sql, &[id]).await?.is_none() {
            return Ok(false);
        }
        // A replay may have come in between; from here on it waits.
        let sql = "SELECT ended FROM delivery WHERE message = $1 ORDER BY endpoint FOR UPDATE";
        for row in statement::rows(&changes.db, sql, &[id]).await? {
            if get::<i16>(&row, 0)? == 0 {
                return Err(is_open(self.0).into());
            }
        }
        statement::run(&changes.db, "DELETE FROM payload WHERE message = $1", &[id]).await?;
        // A check of the store tells it from a payload that was lost.
        let sql = "UPDATE message SET document = \
                   (coalesce(document, '{}')::jsonb || '{\"payload_deleted\": true}')::text WHERE id = $1";
        statement::run(&changes.db, sql, &[id]).await?;
        let sql = "UPDATE attempt SET reply = NULL \
                   WHERE day = $1 AND message = $2 AND reply IS NOT NULL";
        statement::run(&changes.db, sql, &[&day_of(self.0), id]).await?;
        Ok(true)
    }
}

/// Deletes a message without open deliveries; whether it was there.
pub(super) struct DeleteMessage(pub(super) MessageId);

impl Change for DeleteMessage {
    type Done = bool;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<bool, DbError> {
        let sql = "SELECT 1 FROM message WHERE id = $1 FOR UPDATE";
        if statement::row(&changes.db, sql, &[self.0.as_uuid()]).await?.is_none() {
            // Deleted by an earlier try whose end was in doubt, unless it never was there.
            return Ok(changes.again);
        }
        if changes.delete_finished(&[self.0]).await? == 0 {
            return Err(is_open(self.0).into());
        }
        // Those of other days go by the day; these are asked for by name.
        changes.delete_attempts(&[self.0]).await?;
        Ok(true)
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
        // Their arrivals are forgotten by the leaders that meet them.
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

/// Deletes the remaining rows of a deleted application.
pub(super) async fn sweep_application(
    writer: &PostgresWriter,
    id: ApplicationId,
) -> Result<(), Error> {
    while !writer.write(SELDOM, &SweepApplication(id)).await? {}
    Ok(())
}

/// Cancels open deliveries to a deleted endpoint.
pub(super) async fn sweep_endpoint(
    writer: &PostgresWriter,
    id: EndpointId,
    now: Instant,
) -> Result<(), Error> {
    let mut after = None;
    loop {
        after = writer.write(SELDOM, &SweepEndpoint { id, now, after }).await?;
        if after.is_none() {
            return Ok(());
        }
    }
}

/// Ends the deletions that were begun.
pub(super) async fn finish_sweeps(
    pool: &PostgresPool,
    writer: &PostgresWriter,
) -> Result<(), Error> {
    let loan = pool.lend().await?;
    let found = pool.bounded(begun(&loan)).await;
    let (applications, endpoints) = loan.end(found)?;
    for id in applications {
        sweep_application(writer, id).await?;
    }
    for (id, now) in endpoints {
        sweep_endpoint(writer, id, now).await?;
    }
    Ok(())
}

type BegunDeletions = (Vec<ApplicationId>, Vec<(EndpointId, Instant)>);

async fn begun(loan: &super::pool::PooledClient) -> Result<BegunDeletions, DbError> {
    let (mut applications, mut endpoints) = (Vec::new(), Vec::new());
    let sql = "SELECT id FROM application WHERE gone";
    for row in statement::rows(&**loan, sql, &[]).await? {
        applications.push(application_id(&row, 0)?);
    }
    let sql = "SELECT id, gone_at FROM endpoint WHERE gone_at IS NOT NULL";
    for row in statement::rows(&**loan, sql, &[]).await? {
        endpoints.push((endpoint_id(&row, 0)?, instant(get(&row, 1)?)));
    }
    Ok((applications, endpoints))
}

#[cfg(test)]
mod tests {
    use super::super::test_schema::TestSchema;
    use super::*;
    use crate::testing::fixture::app;

    #[tokio::test]
    async fn pruning_of_one_application_looked_at_the_messages_of_others() {
        let Some(schema) = TestSchema::new().await else { return };
        drop(schema.open().await);
        let plan = schema.plan(old_sql(Some(app(1))), 5).await;
        assert!(plan.contains("message_by_application"), "{plan}");
        assert!(!plan.contains("Seq Scan on message") && !plan.contains("Sort"), "{plan}");
    }
}
