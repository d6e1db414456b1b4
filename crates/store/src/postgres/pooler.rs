//! Refuses a connection pooler that gives a session to one transaction at a time: notifications, prepared statements and
//! the settings of a session do not survive it.

use stagger::{Entropy, OsEntropy};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::statement::DbError;
use crate::Error;

/// The setting of a session that is looked for in the other one.
const MARK: &str = "stagger.session";

/// Refuses two connections whose sessions are not their own.
///
/// The first gets a mark. The second, which holds its session by a transaction, must not have it; and the first must still
/// have it then. Only the simple protocol is used, because a pooler may refuse the other.
///
/// # Errors
/// A pooler is between this node and the server; a connection is lost.
pub(super) async fn refuse(first: &Client, second: &Client) -> Result<(), DbError> {
    let mark = format!("{:016x}", OsEntropy.next_u64());
    first.batch_execute(&format!("SET {MARK} = '{mark}'")).await?;
    // A pooler of statements refuses transactions.
    match second.batch_execute("BEGIN").await {
        Err(error) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => return Err(refused()),
        begun => begun?,
    }
    let is_own = async {
        let is_new = value(second).await?.is_empty();
        Ok::<_, tokio_postgres::Error>(is_new && value(first).await? == mark)
    };
    let is_own = is_own.await;
    second.batch_execute("COMMIT").await?;
    if is_own? {
        return Ok(());
    }
    Err(refused())
}

fn refused() -> DbError {
    DbError::Refused(Error::conflict(
        "store: a connection pooler in transaction mode or statement mode is between this node and PostgreSQL; connect \
         to the server, or set the pooler's pool_mode to session",
    ))
}

async fn value(client: &Client) -> Result<String, tokio_postgres::Error> {
    let sql = format!("SELECT coalesce(current_setting('{MARK}', true), '')");
    let messages = client.simple_query(&sql).await?;
    let row = messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(row.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::test_schema::TestSchema;
    use super::*;

    #[tokio::test]
    async fn a_pooler_that_shares_sessions_was_taken_for_the_server() {
        let Some(schema) = TestSchema::new().await else { return };
        let (first, second) = (schema.connect().await, schema.connect().await);
        for _ in 0..2 {
            refuse(&first, &second).await.map_err(Error::from).expect("the server itself");
        }
        // With a pooler both connections end in one session, or the first in another than before.
        let refused = refuse(&first, &first).await.map_err(Error::from);
        let refused = refused.expect_err("one session").to_string();
        assert!(refused.contains("transaction mode"), "{refused}");
    }
}
