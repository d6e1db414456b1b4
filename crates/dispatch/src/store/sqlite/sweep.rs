//! What a deletion left behind when its process ended in the middle is deleted at the next opening.

use rusqlite::{Connection, Row};
use stagger::Instant;

use super::changes::{Changes, Memory};
use super::column::instant;
use super::tally::Tally;
use super::trouble::{Trouble, failed};
use crate::Error;
use crate::model::{ApplicationId, EndpointId};

/// Ends the deletions that were begun.
pub(super) fn finish(db: &Connection) -> Result<(), Error> {
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

type Begun = (Vec<ApplicationId>, Vec<(EndpointId, Instant)>);

fn begun(db: &Connection) -> rusqlite::Result<Begun> {
    let mut find = db.prepare("SELECT id FROM application WHERE gone")?;
    let applications = find.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut find = db.prepare("SELECT id, gone_at FROM endpoint WHERE gone_at IS NOT NULL")?;
    let read = |row: &Row<'_>| Ok((row.get(0)?, instant(row.get(1)?)));
    let endpoints = find.query_map([], read)?.collect::<Result<_, _>>()?;
    Ok((applications, endpoints))
}

fn transact<T>(
    db: &Connection,
    change: impl Fn(&mut Changes<'_>) -> Result<T, Trouble>,
) -> Result<T, Error> {
    let run = || {
        let whole = db.unchecked_transaction()?;
        let mut memory = Memory::load(db)?;
        let mut changes = Changes { db, memory: &mut memory, tally: Tally::default() };
        let done = change(&mut changes)?;
        changes.tally.write(db)?;
        whole.commit()?;
        Ok(done)
    };
    run().map_err(|trouble| match trouble {
        Trouble::Refused(error) => error,
        Trouble::Broken(error) => failed(&error),
    })
}
