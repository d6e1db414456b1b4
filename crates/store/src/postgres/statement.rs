//! Statements, each prepared once for each connection, and why they fail.

use std::error::Error as _;

use deadpool_postgres::{Client, GenericClient};
use stagger::ConfigError;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use crate::Error;
use crate::encoding::Unreadable;

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

/// The rows of a statement that is a transaction of its own. Calls `executed` when only the disk is left to wait for.
///
/// Statement and commit are sent together: if the connection breaks after that, the transaction may hold.
pub(super) async fn whole(
    db: &Client,
    sql: &str,
    bound: &Bound<'_>,
    executed: impl FnOnce() + Send,
) -> Result<Vec<Row>, DbError> {
    let statement = db.prepare_cached(sql).await?;
    // Its answer shows that the server is there, so that a dead connection leaves nothing in doubt.
    db.batch_execute("BEGIN").await?;
    let execute = async {
        let rows = db.query(&statement, bound).await;
        executed();
        rows
    };
    let (rows, committed) = tokio::join!(biased; execute, db.batch_execute("COMMIT"));
    // A statement that was refused has rolled the transaction back, whatever the answer to the commit.
    let rows = rows.map_err(|error| match error.as_db_error() {
        Some(_) => DbError::Broken(error),
        None => DbError::of_commit(error),
    })?;
    committed.map_err(DbError::of_commit)?;
    Ok(rows)
}

/// Executes a statement in a transaction of its own, which is rolled back unless `holds` says yes to its rows. Returns
/// that.
pub(super) async fn if_it_holds(
    db: &Client,
    sql: &str,
    bound: &Bound<'_>,
    holds: impl FnOnce(&[Row]) -> Result<bool, DbError> + Send,
) -> Result<bool, DbError> {
    let statement = db.prepare_cached(sql).await?;
    // In one round trip.
    let done = tokio::try_join!(biased; db.batch_execute("BEGIN"), db.query(&statement, bound));
    let held = done.map_err(DbError::from).and_then(|((), rows)| holds(&rows));
    if matches!(held, Ok(true)) {
        db.batch_execute("COMMIT").await.map_err(DbError::of_commit)?;
    } else {
        db.batch_execute("ROLLBACK").await?;
    }
    held
}

/// A failed database operation.
#[derive(Debug)]
pub(super) enum DbError {
    /// A conflict with the existing state. It has changed nothing.
    Refused(Error),
    /// The database failed; nothing of the transaction holds.
    Broken(tokio_postgres::Error),
    /// The connection broke while the transaction was being committed, or the server does not answer: it may
    /// hold. In words.
    Doubtful(String),
}

impl DbError {
    /// Classifies an error of a commit.
    pub(super) fn of_commit(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) if was_refused(code) => Self::Broken(error),
            _ => Self::Doubtful(format!("{}, in a commit, which may hold", words(&error))),
        }
    }

    /// Whether the same transaction can succeed if it is repeated immediately.
    pub(super) fn is_worth_repeating(&self) -> bool {
        let Self::Broken(error) = self else { return false };
        matches!(
            error.code(),
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
        )
    }

    /// Whether it is a conflict with the existing state.
    pub(super) const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Whether the cause may be the written values, and not the database.
    pub(super) fn may_be_the_data(&self) -> bool {
        matches!(self, Self::Broken(error) if error.code().is_some_and(is_about_data))
    }
}

impl From<Error> for DbError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<ConfigError> for DbError {
    fn from(error: ConfigError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Unreadable> for DbError {
    fn from(error: Unreadable) -> Self {
        Self::Refused(Error::store(error.to_string()))
    }
}

impl From<DbError> for Error {
    fn from(db_error: DbError) -> Self {
        match db_error {
            DbError::Refused(error) => error,
            DbError::Broken(error) if error.code().is_some_and(is_about_data) => Self::invalid(
                "row",
                "(not shown)",
                format!("what PostgreSQL takes: {}", words(&error)),
            ),
            DbError::Broken(error) => Self::store(words(&error)),
            DbError::Doubtful(why) => Self::store(why),
        }
    }
}

/// The text of an error: from the server, or from the connection. The detail is left out, because
/// it shows values.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    if let Some(told) = error.as_db_error() {
        return format!("PostgreSQL: {} ({})", told.message(), told.code().code());
    }
    match error.source() {
        Some(cause) => format!("PostgreSQL: {error}: {cause}"),
        None => format!("PostgreSQL: {error}"),
    }
}

/// Whether a commit that ended so has certainly not taken effect: conflicts between transactions (class
/// 40, but for "completion unknown"), constraints checked at its end (23), transactions that had failed
/// before (25).
fn was_refused(code: &SqlState) -> bool {
    let class = code.code().get(..2);
    matches!(class, Some("23" | "25" | "40"))
        && *code != SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
        && *code != SqlState::READ_ONLY_SQL_TRANSACTION
}

/// Values that no column takes (class 22), and rows that a constraint refuses (class 23).
fn is_about_data(code: &SqlState) -> bool {
    matches!(code.code().get(..2), Some("22" | "23"))
}
