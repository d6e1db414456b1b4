//! Old messages go.

use rusqlite::params;
use stagger::Instant;

use super::changes::Changes;
use super::column::{endpoint_id, from_size, instant, message_id};
use super::db_error::DbError;
use super::slack;
use crate::model::{DeliveryState, EndpointId, MessageId};
use crate::store::encoding::state;

/// Messages that one step deletes at most: some milliseconds of work.
const STEP: usize = 128;
/// Messages that one step looks at at most; nearly all of them stay because something is open.
const EXAMINED: usize = 4096;
/// Space is returned to the file system once at least this share of pages is free: less is used
/// again soon, and moving pages costs more than they are worth.
const FREE_SHARE: i64 = 4;
/// Pages that are given back in one step.
const VACUUMED: i64 = 256;

/// The result of one step of pruning.
#[derive(Clone, Copy, Debug)]
pub(super) struct PruneStep {
    /// Messages deleted.
    pub(super) deleted: usize,
    /// The start of the next step; `None` if there is nothing more to delete.
    pub(super) next: Option<MessageId>,
}

impl Changes<'_> {
    /// Deletes some finished messages accepted before `before`, oldest first, `limit` at most, from
    /// `from` on.
    pub(super) fn prune(
        &mut self,
        before: Instant,
        from: Option<MessageId>,
        limit: usize,
    ) -> Result<PruneStep, DbError> {
        let from = from.map_or(self.memory.floor, |from| from.max(self.memory.floor));
        let (old, next) = self.find_old(before, from, limit.min(STEP))?;
        for message in &old {
            self.delete_message(*message)?;
        }
        self.give_back()?;
        Ok(PruneStep { deleted: old.len(), next })
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
        before: Instant,
        from: MessageId,
        limit: usize,
    ) -> rusqlite::Result<(Vec<MessageId>, Option<MessageId>)> {
        let to = slack::ids(self.db, None, Some(before))?.to;
        let sql =
            "SELECT id, created_at FROM message WHERE id >= ?1 AND id <= ?2 ORDER BY id LIMIT ?3";
        let mut walk = self.db.prepare_cached(sql)?;
        let mut rows =
            walk.query(params![from.as_bytes(), to.as_bytes(), from_size(EXAMINED + 1)])?;
        let (mut old, mut examined) = (Vec::new(), 0);
        let mut at_floor = from == self.memory.floor;
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
