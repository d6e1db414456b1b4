//! Commands for the leader of an endpoint.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::super::changes::Changes;
use super::super::column::{endpoint_id, get, message_id, shard_numbers};
use super::super::db_error::DbError;
use super::super::statement;
use super::super::writer::Change;
use crate::Error;
use crate::model::EndpointId;
use crate::store::{EndpointCommand, ShardId, Shards};

/// Stores a command for an endpoint's leader; returns its number.
pub(in super::super) struct SendCommand(
    pub(in super::super) EndpointId,
    pub(in super::super) EndpointCommand,
);

impl Change for SendCommand {
    type Done = u64;

    async fn make(&self, changes: &mut Changes<'_>) -> Result<u64, DbError> {
        let Self(endpoint, command) = *self;
        // The endpoint stays until this has ended, so that its deletion finds the command.
        if changes.endpoints([endpoint].into()).await?.is_empty() {
            return Err(Error::not_found("endpoint").into());
        }
        let message =
            if let EndpointCommand::Cancel(message) = command { Some(message) } else { None };
        let message = message.as_ref().map(|id| *id.as_uuid());
        let shard = i16::from(ShardId::of(endpoint).0);
        let sql = "INSERT INTO orders (shard, endpoint, kind, message) VALUES ($1, $2, $3, $4) \
                   RETURNING number";
        let bound: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&shard, endpoint.as_uuid(), &kind(command), &message];
        let row = statement::row(&changes.db, sql, &bound).await?;
        let number = row.map(|row| get::<i64>(&row, 0)).transpose()?;
        Ok(number.unwrap_or_default().cast_unsigned())
    }
}

/// Orders were carried out.
pub(in super::super) struct CompleteCommands<'o>(pub(in super::super) &'o [u64]);

impl Change for CompleteCommands<'_> {
    type Done = ();

    async fn make(&self, changes: &mut Changes<'_>) -> Result<(), DbError> {
        let numbers: Vec<_> = self.0.iter().map(|number| number.cast_signed()).collect();
        statement::run(&changes.db, "DELETE FROM orders WHERE number = ANY($1)", &[&numbers])
            .await?;
        Ok(())
    }
}

impl Changes<'_> {
    /// Deletes the commands for deleted endpoints, which are locked.
    pub(in super::super) async fn drop_commands(&self, of: &[EndpointId]) -> Result<(), DbError> {
        let endpoints: Vec<_> = of.iter().map(|id| *id.as_uuid()).collect();
        let sql = "DELETE FROM orders WHERE endpoint = ANY($1)";
        statement::run(&self.db, sql, &[&endpoints]).await?;
        Ok(())
    }
}

/// The commands for endpoints of shards, oldest first.
pub(in super::super) async fn commands(
    db: &impl GenericClient,
    of: Shards,
) -> Result<Vec<(u64, EndpointId, EndpointCommand)>, DbError> {
    let sql = "SELECT number, endpoint, kind, message FROM orders WHERE shard = ANY($1) \
               ORDER BY number";
    let found = statement::rows(db, sql, &[&shard_numbers(of)]).await?;
    let read = |row: &Row| {
        Ok((get::<i64>(row, 0)?.cast_unsigned(), endpoint_id(row, 1)?, parse_command(row)?))
    };
    found.iter().map(read).collect()
}

/// Whether there is no such order any more.
pub(in super::super) async fn is_gone(
    db: &impl GenericClient,
    command: u64,
) -> Result<bool, DbError> {
    let sql = "SELECT 1 FROM orders WHERE number = $1";
    Ok(statement::row(db, sql, &[&command.cast_signed()]).await?.is_none())
}

const fn kind(command: EndpointCommand) -> i16 {
    match command {
        EndpointCommand::Enable => 0,
        EndpointCommand::Disable => 1,
        EndpointCommand::Recover => 2,
        EndpointCommand::Cancel(_) => 3,
    }
}

fn parse_command(row: &Row) -> Result<EndpointCommand, DbError> {
    Ok(match get::<i16>(row, 2)? {
        0 => EndpointCommand::Enable,
        1 => EndpointCommand::Disable,
        2 => EndpointCommand::Recover,
        3 => EndpointCommand::Cancel(message_id(row, 3)?),
        kind => return Err(Error::store(format!("unknown kind of command {kind}")).into()),
    })
}
