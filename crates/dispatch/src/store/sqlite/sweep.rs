//! Finishes deletions that were interrupted when their process ended, at the next opening.

use rusqlite::{Connection, Row};
use stagger::Instant;

use super::changes::{Changes, Memory};
use super::column::{application_id, endpoint_id, instant};
use super::db_error::{DbError, failed};
use super::tally;
use crate::Error;
use crate::model::{ApplicationId, EndpointId};
use crate::store::tally::CountChanges;

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
        let mut memory = Memory::load(db)?;
        let mut changes = Changes { db, memory: &mut memory, tally: CountChanges::default() };
        let done = change(&mut changes)?;
        tally::write(db, &mut changes.tally)?;
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
    use super::super::test_folder::TestFolder;
    use crate::model::DeliveryState;
    use crate::store::DeliveryStore;
    use crate::store::testing::fixture::{app, at, ep, furnish, message, msg};

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
