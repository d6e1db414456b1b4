//! Deliveries by endpoint and state, counted as they change, so that nobody has to count rows.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::model::{DeliveryState, EndpointId};
use crate::store::Counts;
use crate::store::numbers::state_number;

const STATES: usize = DeliveryState::ALL.len();
/// Under this id all deliveries are counted.
const ALL: EndpointId = EndpointId::from_uuid(Uuid::nil());

/// By how much a transaction has changed the counts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    changes: BTreeMap<EndpointId, [i64; STATES]>,
}

impl Tally {
    /// A delivery to `endpoint` is in `state` now.
    pub(super) fn add(&mut self, endpoint: EndpointId, state: DeliveryState) {
        self.change(endpoint, state, 1);
    }

    /// A delivery to `endpoint` is not in `state` any more.
    pub(super) fn remove(&mut self, endpoint: EndpointId, state: DeliveryState) {
        self.change(endpoint, state, -1);
    }

    /// Writes the counts: one row for each endpoint that was touched.
    pub(super) fn write(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let mut all = [0; STATES];
        for (endpoint, changes) in std::mem::take(&mut self.changes) {
            all.iter_mut().zip(changes).for_each(|(all, change)| *all += change);
            write(db, endpoint, changes)?;
        }
        write(db, ALL, all)
    }

    fn change(&mut self, endpoint: EndpointId, state: DeliveryState, by: i64) {
        self.changes.entry(endpoint).or_default()[state as usize] += by;
    }
}

/// The counts of `endpoint`, or of all.
pub(super) fn read(db: &Connection, endpoint: Option<EndpointId>) -> rusqlite::Result<Counts> {
    let mut find = db.prepare_cached(
        "SELECT pending, waiting, delivered, dead, cancelled FROM tally WHERE endpoint = ?1",
    )?;
    let counts = find.query_row([endpoint.unwrap_or(ALL)], |row| {
        let mut counts = Counts::default();
        for state in DeliveryState::ALL {
            let count: i64 = row.get(state as usize)?;
            counts.set(state, u64::try_from(count).unwrap_or(0));
        }
        Ok(counts)
    });
    Ok(counts.optional()?.unwrap_or_default())
}

/// The counts of `endpoint`, or of all, counted row by row: what [`read`] must agree with.
pub(super) fn recount(db: &Connection, endpoint: Option<EndpointId>) -> rusqlite::Result<Counts> {
    let mut counts = Counts::default();
    for state in DeliveryState::ALL {
        let count: i64 = db.query_row(
            "SELECT count(*) FROM delivery WHERE state = ?1 AND (?2 IS NULL OR endpoint = ?2)",
            params![state_number(state), endpoint],
            |row| row.get(0),
        )?;
        counts.set(state, count.cast_unsigned());
    }
    Ok(counts)
}

fn write(db: &Connection, endpoint: EndpointId, by: [i64; STATES]) -> rusqlite::Result<()> {
    if by == [0; STATES] {
        return Ok(());
    }
    let mut upsert = db.prepare_cached(
        "INSERT INTO tally VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
         pending = pending + ?2, waiting = waiting + ?3, delivered = delivered + ?4, \
         dead = dead + ?5, cancelled = cancelled + ?6",
    )?;
    upsert.execute(params![endpoint, by[0], by[1], by[2], by[3], by[4]])?;
    Ok(())
}
