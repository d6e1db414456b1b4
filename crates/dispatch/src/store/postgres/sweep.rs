//! Finishes deletions in bounded steps; an interrupted deletion is finished at the next opening.

use stagger::Instant;

use super::column::{application_id, endpoint_id, get, instant};
use super::db_error::DbError;
use super::pool::PostgresPool;
use super::statement;
use super::tenants::{SweepApplication, SweepEndpoint};
use super::writer::{PostgresWriter, SELDOM};
use crate::Error;
use crate::model::{ApplicationId, EndpointId};

/// Deletes the remaining rows of a deleted application.
pub(super) async fn application(writer: &PostgresWriter, id: ApplicationId) -> Result<(), Error> {
    while !writer.write(SELDOM, &SweepApplication(id)).await? {}
    Ok(())
}

/// Cancels open deliveries to a deleted endpoint.
pub(super) async fn endpoint(
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
pub(super) async fn finish(pool: &PostgresPool, writer: &PostgresWriter) -> Result<(), Error> {
    let loan = pool.lend().await?;
    let found = pool.bounded(begun(&loan)).await;
    let (applications, endpoints) = loan.end(found)?;
    for id in applications {
        application(writer, id).await?;
    }
    for (id, now) in endpoints {
        endpoint(writer, id, now).await?;
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
