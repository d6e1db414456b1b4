//! Applications and endpoints. Deleting one marks it as deleted immediately; its rows are deleted
//! after that in bounded steps, between which others write.

use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Endpoint, EndpointId, EndpointState, MessageId,
};
use uuid::Uuid;

use super::cluster::Changed;
use super::row::{endpoint_id, from_instant, from_size, message_id};
use super::statement::DbError;
use super::writer::{Change, Changes};
use super::{row, statement};
use crate::{Error, ShardId, document};

/// Messages or deliveries that one step changes at most: some milliseconds of work.
const STEP: usize = 256;

/// Writes an application, new or changed.
pub(super) struct PutApplication<'a>(pub(super) &'a Application);

impl Change for PutApplication<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let sql = "INSERT INTO application (id, document) VALUES ($1, $2) \
                   ON CONFLICT (id) DO UPDATE SET document = excluded.document";
        let document = document::of_application(self.0, &changes.memory.keys)?;
        statement::run(&changes.db, sql, &[self.0.id.as_uuid(), &document]).await?;
        changes.tell(Changed::Application(self.0.id)).await
    }
}

/// Marks an application as gone, and takes its endpoints away.
pub(super) struct MarkApplication(pub(super) ApplicationId);

impl Change for MarkApplication {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let id = self.0.as_uuid();
        // Calls that accept for it hold it; this waits until they have ended.
        let sql = "SELECT 1 FROM application WHERE id = $1 FOR UPDATE";
        statement::row(&changes.db, sql, &[id]).await?;
        let sql = "UPDATE application SET gone = true WHERE id = $1 AND NOT gone";
        if statement::run(&changes.db, sql, &[id]).await? == 0 {
            return Ok(());
        }
        let sql = "DELETE FROM endpoint WHERE application = $1 RETURNING id";
        let endpoints = statement::rows(&changes.db, sql, &[id]).await?;
        let endpoints: Vec<_> =
            endpoints.iter().map(|row| endpoint_id(row, 0)).collect::<Result<_, _>>()?;
        changes.drop_commands(&endpoints).await?;
        changes.tell(Changed::Application(self.0)).await
    }
}

/// Deletes some messages of an application that is gone; says whether that was all of it.
pub(super) struct SweepApplication(pub(super) ApplicationId);

impl Change for SweepApplication {
    type Done = bool;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<bool, DbError> {
        let id = self.0.as_uuid();
        let sql = "SELECT id FROM message WHERE application = $1 ORDER BY id LIMIT $2";
        let found = statement::rows(&changes.db, sql, &[id, &from_size(STEP)]).await?;
        let messages: Vec<_> =
            found.iter().map(|row| message_id(row, 0)).collect::<Result<_, _>>()?;
        changes.delete_attempts(&messages).await?;
        changes.delete_messages(&messages).await?;
        let done = messages.len() < STEP;
        if done {
            let sql = "DELETE FROM application WHERE id = $1 AND gone";
            statement::run(&changes.db, sql, &[id]).await?;
        }
        Ok(done)
    }
}

/// Writes the settings of an endpoint, new or changed.
pub(super) struct PutEndpoint<'e>(pub(super) &'e Endpoint);

impl Change for PutEndpoint<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let Endpoint { id, application, .. } = self.0;
        if changes.applications([*application].into()).await?.is_empty() {
            return Err(Error::not_found("application").into());
        }
        let sql = "INSERT INTO endpoint (id, application, document, standing) \
                   VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET document = excluded.document";
        let endpoint_state = document::of_endpoint_state(&EndpointState::default())?;
        let document = document::of_endpoint(self.0, &changes.memory.keys)?;
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [id.as_uuid(), application.as_uuid(), &document, &endpoint_state];
        statement::run(&changes.db, sql, &bound).await?;
        changes.tell(Changed::Endpoint(*id)).await
    }
}

/// Marks an endpoint as gone.
pub(super) struct MarkEndpoint(pub(super) EndpointId, pub(super) Instant);

impl Change for MarkEndpoint {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let id = self.0.as_uuid();
        let sql = "SELECT 1 FROM endpoint WHERE id = $1 FOR UPDATE";
        statement::row(&changes.db, sql, &[id]).await?;
        let sql = "UPDATE endpoint SET gone_at = $2 WHERE id = $1 AND gone_at IS NULL";
        if statement::run(&changes.db, sql, &[id, &from_instant(self.1)]).await? == 0 {
            return Ok(());
        }
        changes.drop_commands(&[self.0]).await?;
        changes.tell(Changed::Endpoint(self.0)).await
    }
}

/// Cancels some open deliveries to a deleted endpoint, those of messages after `after`. Returns the
/// last one, or `None` when none is left.
pub(super) struct SweepEndpoint {
    pub(super) id: EndpointId,
    pub(super) now: Instant,
    pub(super) after: Option<MessageId>,
}

impl Change for SweepEndpoint {
    type Done = Option<MessageId>;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<Option<MessageId>, DbError> {
        let sql = format!(
            "SELECT {} FROM delivery d WHERE d.shard = $1 AND d.endpoint = $2 AND d.message > $3 \
             AND d.ended = 0 ORDER BY d.message LIMIT $4 FOR UPDATE",
            row::DELIVERY
        );
        let after = self.after.map_or(Uuid::nil(), |after| *after.as_uuid());
        let (id, shard) = (self.id.as_uuid(), i16::from(ShardId::of(self.id).0));
        let found =
            statement::rows(&changes.db, &sql, &[&shard, id, &after, &from_size(STEP)]).await?;
        let open: Vec<_> = found.iter().map(row::delivery).collect::<Result<_, _>>()?;
        let cancelled: Vec<_> =
            open.iter().map(|d| (d.endpoint_deleted(self.now), d.state)).collect();
        changes.update_deliveries(&cancelled).await?;
        if open.len() < STEP {
            let sql = "DELETE FROM endpoint WHERE id = $1 AND gone_at IS NOT NULL";
            statement::run(&changes.db, sql, &[id]).await?;
            return Ok(None);
        }
        Ok(open.last().map(|delivery| delivery.message))
    }
}
