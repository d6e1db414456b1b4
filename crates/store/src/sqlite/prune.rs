//! Deletions: finished messages that are old, and what belonged to a deleted application or endpoint.

use rusqlite::{Connection, OptionalExtension, Row, params};
use stagger::Instant;
use stagger_scheduler::model::{ApplicationId, DeliveryState, EndpointId, MessageId};

use super::row::{DbError, application_id, endpoint_id, failed, from_size, instant, message_id};
use super::writer::{Changes, Memory};
use super::{lookups, writer};
use crate::calls::is_open;
use crate::encoding::{CountChanges, state};
use crate::{EncryptionKeys, Error};

/// Messages that one step deletes at most: some milliseconds of work.
const STEP: usize = 128;
/// Messages that one step looks at at most; nearly all of them stay because something is open.
const EXAMINED: usize = 4096;
/// Space is returned to the file system once at least this share of pages is free: less is used
/// again soon, and moving pages costs more than they are worth.
const FREE_SHARE: i64 = 4;
/// Pages that are given back in one step.
const VACUUMED: i64 = 256;

/// The number in place of that of a payload that was deleted: SQLite begins with 1, and may give the number of a
/// deleted payload to another one.
const NO_PAYLOAD: i64 = 0;

/// The walk over the messages of an application, or of all: each along an index that has them in order.
const fn old_sql(of: Option<ApplicationId>) -> &'static str {
    match of {
        None => {
            "SELECT id, created_at FROM message WHERE id >= ?1 AND id <= ?2 ORDER BY id LIMIT ?3"
        }
        Some(_) => {
            "SELECT id, created_at FROM message WHERE application = ?4 AND id >= ?1 AND id <= ?2 \
             ORDER BY id LIMIT ?3"
        }
    }
}

/// The result of one step of pruning.
#[derive(Clone, Copy, Debug)]
pub(super) struct PruneStep {
    /// Messages deleted.
    pub(super) deleted: usize,
    /// The start of the next step; `None` if there is nothing more to delete.
    pub(super) next: Option<MessageId>,
}

impl Changes<'_> {
    /// Deletes some finished messages of an application, or of all, accepted before `before`, oldest first, `limit` at
    /// most, from `from` on.
    pub(super) fn prune(
        &mut self,
        (of, before): (Option<ApplicationId>, Instant),
        from: Option<MessageId>,
        limit: usize,
    ) -> Result<PruneStep, DbError> {
        let from = from.map_or(self.memory.floor, |from| from.max(self.memory.floor));
        let (old, next) = self.find_old((of, before), from, limit.min(STEP))?;
        for message in &old {
            self.delete_message(*message)?;
        }
        self.give_back()?;
        Ok(PruneStep { deleted: old.len(), next })
    }

    /// Deletes a message without open deliveries; whether it was there.
    pub(super) fn delete_finished(&mut self, id: MessageId) -> Result<bool, DbError> {
        let sql = "SELECT 1 FROM message WHERE id = ?1";
        if !self.db.prepare_cached(sql)?.exists([id.as_bytes()])? {
            return Ok(false);
        }
        if self.states_of(id)?.iter().any(|(_, state)| state.is_open()) {
            return Err(is_open(id).into());
        }
        self.delete_message(id)?;
        Ok(true)
    }

    /// Deletes the payload of a message without open deliveries, and the replies of its attempts; whether the message
    /// was there.
    pub(super) fn delete_payload(&mut self, id: MessageId) -> Result<bool, DbError> {
        let sql = "SELECT payload FROM message WHERE id = ?1";
        let mut find = self.db.prepare_cached(sql)?;
        let number = find.query_row([id.as_bytes()], |row| row.get::<_, i64>(0)).optional()?;
        let Some(number) = number else { return Ok(false) };
        if self.is_open(id)? {
            return Err(is_open(id).into());
        }
        // Nothing of it stays in free pages of the file.
        self.db.execute_batch("PRAGMA secure_delete = ON")?;
        let deleted = self.erase_payload(id, number);
        self.db.execute_batch("PRAGMA secure_delete = OFF")?;
        deleted?;
        Ok(true)
    }

    fn erase_payload(&self, id: MessageId, number: i64) -> rusqlite::Result<()> {
        self.db.prepare_cached("DELETE FROM payload WHERE number = ?1")?.execute([number])?;
        let sql = "UPDATE message SET payload = ?2 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute(params![id.as_bytes(), NO_PAYLOAD])?;
        let sql = "UPDATE attempt SET reply = NULL WHERE message = ?1 AND reply IS NOT NULL";
        self.db.prepare_cached(sql)?.execute([id.as_bytes()])?;
        Ok(())
    }

    /// Deletes a message with its payload, deliveries and attempts.
    pub(super) fn delete_message(&mut self, id: MessageId) -> rusqlite::Result<()> {
        for (endpoint, state) in self.states_of(id)? {
            self.tally.remove(endpoint, state);
        }
        self.db
            .prepare_cached("DELETE FROM attempt WHERE message = ?1")?
            .execute([id.as_bytes()])?;
        self.db
            .prepare_cached("DELETE FROM delivery WHERE message = ?1")?
            .execute([id.as_bytes()])?;
        let sql = "DELETE FROM message WHERE id = ?1 RETURNING payload";
        let payload: i64 =
            self.db.prepare_cached(sql)?.query_row([id.as_bytes()], |row| row.get(0))?;
        self.db.prepare_cached("DELETE FROM payload WHERE number = ?1")?.execute([payload])?;
        Ok(())
    }

    /// The next messages to delete, and the start of the next search. Skips, from then on, messages
    /// that stay because a delivery is open.
    fn find_old(
        &mut self,
        (of, before): (Option<ApplicationId>, Instant),
        from: MessageId,
        limit: usize,
    ) -> rusqlite::Result<(Vec<MessageId>, Option<MessageId>)> {
        let to = writer::ids_between(self.db, None, Some(before))?.to;
        let mut walk = self.db.prepare_cached(old_sql(of))?;
        let most = from_size(EXAMINED + 1);
        let mut rows = match of {
            None => walk.query(params![from.as_bytes(), to.as_bytes(), most])?,
            Some(of) => walk.query(params![from.as_bytes(), to.as_bytes(), most, of.as_bytes()])?,
        };
        let (mut old, mut examined) = (Vec::new(), 0);
        // Messages of others may lie between those of an application.
        let mut at_floor = of.is_none() && from == self.memory.floor;
        while let Some(row) = rows.next()? {
            let (id, created_at) = (message_id(row, 0)?, instant(row.get(1)?));
            if examined == EXAMINED || old.len() == limit {
                return Ok((old, Some(id)));
            }
            examined += 1;
            let open = self.is_open(id)?;
            at_floor &= open || created_at < before;
            if open && at_floor {
                self.memory.floor = id;
            } else if !open && created_at < before {
                old.push(id);
            }
        }
        Ok((old, None))
    }

    fn is_open(&self, message: MessageId) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM delivery WHERE message = ?1 AND state < 2";
        self.db.prepare_cached(sql)?.exists([message.as_bytes()])
    }

    fn states_of(&self, id: MessageId) -> rusqlite::Result<Vec<(EndpointId, DeliveryState)>> {
        let sql = "SELECT endpoint, state FROM delivery WHERE message = ?1";
        let mut find = self.db.prepare_cached(sql)?;
        find.query_map([id.as_bytes()], |row| Ok((endpoint_id(row, 0)?, state(row.get(1)?)?)))?
            .collect()
    }

    fn give_back(&self) -> rusqlite::Result<()> {
        let number = |sql| self.db.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0));
        let (free, all) = (number("PRAGMA freelist_count")?, number("PRAGMA page_count")?);
        if free * FREE_SHARE < all {
            return Ok(());
        }
        let mut vacuum = self.db.prepare(&format!("PRAGMA incremental_vacuum({VACUUMED})"))?;
        let mut steps = vacuum.query([])?;
        while steps.next()?.is_some() {}
        Ok(())
    }
}

/// Ends the deletions that were begun.
pub(super) fn finish_sweeps(db: &Connection) -> Result<(), Error> {
    let (applications, endpoints) = begun(db).map_err(|e| failed(&e))?;
    for id in applications {
        while !transact(db, |changes| changes.sweep_application(id))? {}
    }
    for (id, now) in endpoints {
        let mut after = None;
        while let Some(next) = transact(db, |changes| changes.sweep_endpoint(id, now, after))? {
            after = Some(next);
        }
    }
    Ok(())
}

type BegunDeletions = (Vec<ApplicationId>, Vec<(EndpointId, Instant)>);

fn begun(db: &Connection) -> rusqlite::Result<BegunDeletions> {
    let mut find = db.prepare("SELECT id FROM application WHERE gone")?;
    let applications =
        find.query_map([], |row| application_id(row, 0))?.collect::<Result<_, _>>()?;
    let mut find = db.prepare("SELECT id, gone_at FROM endpoint WHERE gone_at IS NOT NULL")?;
    let read = |row: &Row<'_>| Ok((endpoint_id(row, 0)?, instant(row.get(1)?)));
    let endpoints = find.query_map([], read)?.collect::<Result<_, _>>()?;
    Ok((applications, endpoints))
}

fn transact<T>(
    db: &Connection,
    change: impl Fn(&mut Changes<'_>) -> Result<T, DbError>,
) -> Result<T, Error> {
    let run = || {
        let whole = db.unchecked_transaction()?;
        // A sweep writes no secrets.
        let mut memory = Memory::load(db, EncryptionKeys::default())?;
        let mut changes = Changes { db, memory: &mut memory, tally: CountChanges::default() };
        let done = change(&mut changes)?;
        lookups::write_counts(db, &mut changes.tally)?;
        whole.commit()?;
        Ok(done)
    };
    run().map_err(|db_error| match db_error {
        DbError::Refused(error) => error,
        DbError::Broken(error) => failed(&error),
    })
}

#[cfg(test)]
mod tests {
    use stagger_scheduler::model::DeliveryState;

    use super::super::test_folder::TestFolder;
    use crate::DeliveryStore;
    use crate::testing::fixture::{app, at, ep, furnish, message, msg};

    #[tokio::test]
    async fn pruning_of_one_application_looked_at_the_messages_of_others() {
        let folder = TestFolder::new();
        let store = folder.open();
        let plan = |of| {
            store.change(move |changes| {
                let sql = format!("EXPLAIN QUERY PLAN {}", super::old_sql(of));
                let mut find = changes.db.prepare(&sql)?;
                let nothing = vec![None::<i64>; find.parameter_count()];
                let nothing = rusqlite::params_from_iter(nothing);
                let lines = find.query_map(nothing, |row| row.get::<_, String>(3))?;
                Ok(lines.collect::<Result<Vec<_>, _>>()?.join("\n"))
            })
        };
        let own = plan(Some(app(1))).await.unwrap();
        assert!(own.contains("message_by_application (application=? AND id>? AND id<?)"), "{own}");
        assert!(!own.contains("SCAN") && !own.contains("TEMP B-TREE"), "{own}");
        let all = plan(None).await.unwrap();
        assert!(all.contains("PRIMARY KEY") && !all.contains("SCAN"), "{all}");
    }

    #[tokio::test]
    async fn deletions_that_a_crash_cut_short_are_ended() {
        let folder = TestFolder::new();
        let store = folder.open();
        furnish(&store).await;
        store.accept((1..=600).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
        store.accept((601..=1200).map(|n| message(n, 2, &[3])).collect()).await.unwrap();
        store.change(|changes| changes.mark_endpoint(ep(1), at(2000))).await.unwrap();
        store.change(|changes| changes.sweep_endpoint(ep(1), at(2000), None)).await.unwrap();
        store.change(|changes| changes.mark_application(app(2))).await.unwrap();
        assert!(!store.change(|changes| changes.sweep_application(app(2))).await.unwrap());
        drop(store);

        let store = folder.open();
        assert_eq!(store.applications().await.unwrap().len(), 1);
        assert_eq!(store.endpoints().await.unwrap().len(), 1);
        assert_eq!(store.message(msg(1200)).await.unwrap(), None);
        let last = store.delivery(msg(600), ep(1)).await.unwrap().unwrap();
        assert_eq!((last.state, last.updated_at), (DeliveryState::Cancelled, at(2000)));
        let all = store.counts(None).await.unwrap();
        assert_eq!(all.of(DeliveryState::Pending), 600);
        assert_eq!(all.of(DeliveryState::Cancelled), 600);
    }
}
