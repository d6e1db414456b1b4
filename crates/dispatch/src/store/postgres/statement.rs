//! Statements, each prepared once for each connection.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::db_error::DbError;

/// The parameters of a statement.
pub(super) type Bound<'b> = [&'b (dyn ToSql + Sync)];

/// The rows of a statement.
pub(super) async fn rows(
    db: &impl GenericClient,
    sql: &str,
    bound: &Bound<'_>,
) -> Result<Vec<Row>, DbError> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query(&statement, bound).await?)
}

/// The one row of a statement, if it has one.
pub(super) async fn row(
    db: &impl GenericClient,
    sql: &str,
    bound: &Bound<'_>,
) -> Result<Option<Row>, DbError> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query_opt(&statement, bound).await?)
}

/// Runs a statement; how many rows it has changed.
pub(super) async fn run(
    db: &impl GenericClient,
    sql: &str,
    bound: &Bound<'_>,
) -> Result<u64, DbError> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.execute(&statement, bound).await?)
}
