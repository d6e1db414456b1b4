//! Applications and endpoints. Deleting one marks it as deleted immediately; its rows are deleted
//! after that in bounded steps, between which others write.

use rusqlite::{Connection, Row, params};
use stagger::Instant;
use stagger_scheduler::model::{
    Application, ApplicationId, Delivery, Endpoint, EndpointId, EndpointState, MessageId,
};
use uuid::Uuid;

use super::row;
use super::row::{DbError, application_id, endpoint_id, from_instant, from_size, message_id};
use super::writer::Changes;
use crate::{EncryptionKeys, document};

/// Messages or deliveries that one step changes at most: some milliseconds of work.
const STEP: usize = 256;

impl Changes<'_> {
    /// Writes an application, new or changed.
    pub(super) fn put_application(&mut self, application: &Application) -> Result<(), DbError> {
        let sql = "INSERT INTO application (id, document) VALUES (?1, ?2) \
                   ON CONFLICT DO UPDATE SET document = ?2";
        let document = document::of_application(application, &self.memory.keys)?;
        self.db.prepare_cached(sql)?.execute(params![application.id.as_bytes(), document])?;
        Ok(())
    }

    /// Marks an application as gone, and takes its endpoints away.
    pub(super) fn mark_application(&mut self, id: ApplicationId) -> Result<(), DbError> {
        self.memory.deleted = true;
        let sql = "UPDATE application SET gone = 1 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute([id.as_bytes()])?;
        self.db
            .prepare_cached("DELETE FROM endpoint WHERE application = ?1")?
            .execute([id.as_bytes()])?;
        Ok(())
    }

    /// Deletes some messages of an application that is gone. Whether that was all of it.
    pub(super) fn sweep_application(&mut self, id: ApplicationId) -> Result<bool, DbError> {
        let sql = "SELECT id FROM message WHERE application = ?1 LIMIT ?2";
        let mut find = self.db.prepare_cached(sql)?;
        let rows =
            find.query_map(params![id.as_bytes(), from_size(STEP)], |row| message_id(row, 0))?;
        let messages: Vec<MessageId> = rows.collect::<Result<_, _>>()?;
        for message in &messages {
            self.delete_message(*message)?;
        }
        let done = messages.len() < STEP;
        if done {
            self.db
                .prepare_cached("DELETE FROM application WHERE id = ?1 AND gone")?
                .execute([id.as_bytes()])?;
        }
        Ok(done)
    }

    /// Writes the settings of an endpoint, new or changed.
    pub(super) fn put_endpoint(&mut self, endpoint: &Endpoint) -> Result<(), DbError> {
        self.refuse_deleted(endpoint.application)?;
        let sql = "INSERT INTO endpoint (id, application, document, standing) \
                   VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET document = ?3";
        let endpoint_state = document::of_endpoint_state(&EndpointState::default())?;
        let document = document::of_endpoint(endpoint, &self.memory.keys)?;
        let row = params![
            endpoint.id.as_bytes(),
            endpoint.application.as_bytes(),
            document,
            endpoint_state
        ];
        self.db.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Marks an endpoint as gone.
    pub(super) fn mark_endpoint(&mut self, id: EndpointId, now: Instant) -> Result<(), DbError> {
        self.memory.deleted = true;
        let sql = "UPDATE endpoint SET gone_at = ?2 WHERE id = ?1 AND gone_at IS NULL";
        self.db.prepare_cached(sql)?.execute(params![id.as_bytes(), from_instant(now)])?;
        Ok(())
    }

    /// Cancels some open deliveries to a deleted endpoint, those of messages after `after`. Returns
    /// the last one, or `None` when none is left.
    pub(super) fn sweep_endpoint(
        &mut self,
        id: EndpointId,
        now: Instant,
        after: Option<MessageId>,
    ) -> Result<Option<MessageId>, DbError> {
        let open = self.open_of(id, after)?;
        for delivery in &open {
            self.update_delivery(&delivery.endpoint_deleted(now), delivery.state)?;
        }
        if open.len() < STEP {
            let sql = "DELETE FROM endpoint WHERE id = ?1 AND gone_at IS NOT NULL";
            self.db.prepare_cached(sql)?.execute([id.as_bytes()])?;
            return Ok(None);
        }
        Ok(open.last().map(|delivery| delivery.message))
    }

    fn open_of(
        &self,
        endpoint: EndpointId,
        after: Option<MessageId>,
    ) -> rusqlite::Result<Vec<Delivery>> {
        let sql = format!(
            "SELECT {} FROM delivery d INDEXED BY delivery_by_endpoint WHERE d.endpoint = ?1 AND d.message > ?2 AND d.state < 2 \
             ORDER BY d.message LIMIT ?3",
            row::DELIVERY
        );
        let mut find = self.db.prepare_cached(&sql)?;
        let after = after.unwrap_or(MessageId::from_uuid(Uuid::nil()));
        let bound = params![endpoint.as_bytes(), after.as_bytes(), from_size(STEP)];
        find.query_map(bound, row::delivery)?.collect()
    }
}

/// All applications, oldest first.
pub(super) fn applications(
    db: &Connection,
    keys: &EncryptionKeys,
) -> rusqlite::Result<Vec<Application>> {
    let sql = "SELECT id, document FROM application WHERE NOT gone ORDER BY id";
    let read = |row: &Row<'_>| {
        Ok(document::application(application_id(row, 0)?, row.get_ref(1)?.as_str()?, keys)?)
    };
    db.prepare_cached(sql)?.query_map([], read)?.collect()
}

/// All endpoints with their learned state, oldest first.
pub(super) fn endpoints(
    db: &Connection,
    keys: &EncryptionKeys,
) -> rusqlite::Result<Vec<(Endpoint, EndpointState)>> {
    let sql = "SELECT id, application, document, standing FROM endpoint \
               WHERE gone_at IS NULL ORDER BY id";
    let read = |row: &Row<'_>| {
        let text = row.get_ref(2)?.as_str()?;
        let (id, of) = (endpoint_id(row, 0)?, application_id(row, 1)?);
        let endpoint = document::endpoint(id, of, text, keys)?;
        Ok((endpoint, document::endpoint_state(row.get_ref(3)?.as_str()?)?))
    };
    db.prepare_cached(sql)?.query_map([], read)?.collect()
}
