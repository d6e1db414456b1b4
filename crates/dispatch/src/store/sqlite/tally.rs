//! The counts, as the file keeps them.

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::{DeliveryState, EndpointId};
use crate::store::DeliveryCounts;
use crate::store::encoding::state_number;
use crate::store::tally::{ALL, CountChanges, STATES};

/// Writes the counts: one row for each endpoint that was touched.
pub(super) fn write(db: &Connection, tally: &mut CountChanges) -> rusqlite::Result<()> {
    for (endpoint, by) in tally.take() {
        write_one(db, endpoint, by)?;
    }
    Ok(())
}

/// The counts of `endpoint`, or of all.
pub(super) fn read(
    db: &Connection,
    endpoint: Option<EndpointId>,
) -> rusqlite::Result<DeliveryCounts> {
    let mut find = db.prepare_cached(
        "SELECT pending, waiting, delivered, dead, cancelled FROM tally WHERE endpoint = ?1",
    )?;
    let counts = find.query_row([endpoint.unwrap_or(ALL).as_bytes()], |row| {
        let mut counts = DeliveryCounts::default();
        for state in DeliveryState::ALL {
            let count: i64 = row.get(state as usize)?;
            counts.set(state, u64::try_from(count).unwrap_or(0));
        }
        Ok(counts)
    });
    Ok(counts.optional()?.unwrap_or_default())
}

/// The counts of `endpoint`, or of all, counted row by row: [`read`] must agree with them.
pub(super) fn recount(
    db: &Connection,
    endpoint: Option<EndpointId>,
) -> rusqlite::Result<DeliveryCounts> {
    let mut counts = DeliveryCounts::default();
    for state in DeliveryState::ALL {
        let count: i64 = db.query_row(
            "SELECT count(*) FROM delivery WHERE state = ?1 AND (?2 IS NULL OR endpoint = ?2)",
            params![state_number(state), endpoint.as_ref().map(EndpointId::as_bytes)],
            |row| row.get(0),
        )?;
        counts.set(state, count.cast_unsigned());
    }
    Ok(counts)
}

fn write_one(db: &Connection, endpoint: EndpointId, by: [i64; STATES]) -> rusqlite::Result<()> {
    let mut upsert = db.prepare_cached(
        "INSERT INTO tally VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
         pending = pending + ?2, waiting = waiting + ?3, delivered = delivered + ?4, \
         dead = dead + ?5, cancelled = cancelled + ?6",
    )?;
    upsert.execute(params![endpoint.as_bytes(), by[0], by[1], by[2], by[3], by[4]])?;
    Ok(())
}
