//! The leader of each shard, as the database has it.

use std::collections::BTreeMap;
use std::error::Error;

use tokio_postgres::{Client, Row};

/// Shards of the store.
pub(crate) const SHARDS: usize = 256;

const LEADERS: &str =
    "SELECT lease.shard, node.name FROM lease LEFT JOIN node ON node.run = lease.run";

/// The leader of each shard by its name, which is the address that it listens on; `None` where nobody
/// who lives is said to lead.
pub(crate) async fn leads(
    client: &Client,
) -> Result<BTreeMap<usize, Option<String>>, Box<dyn Error>> {
    let rows = client.query(LEADERS, &[]).await?;
    let one = |row: Row| {
        let shard: i16 = row.try_get(0)?;
        Ok((usize::try_from(shard)?, row.try_get(1)?))
    };
    rows.into_iter().map(one).collect()
}
