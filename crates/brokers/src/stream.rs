//! Reading from and writing to the stream of a broker.

use bytes::BytesMut;
use stagger_scheduler::model::AttemptFailure;
use stagger_sender::{BrokerStream, SendFailure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Writes all of `bytes`, and flushes.
///
/// # Errors
/// The connection is lost.
pub(crate) async fn write_whole(
    stream: &mut BrokerStream,
    bytes: &[u8],
) -> Result<(), SendFailure> {
    let failed = |error| SendFailure::by(AttemptFailure::Transport, &error);
    stream.write_all(bytes).await.map_err(failed)?;
    stream.flush().await.map_err(failed)
}

/// Waits for more bytes, and adds them to `buffer`. Errors name the other side as this `peer`.
///
/// # Errors
/// The connection is lost, or the other side has closed it.
pub(crate) async fn read_more(
    stream: &mut BrokerStream,
    buffer: &mut BytesMut,
    peer: &str,
) -> Result<(), SendFailure> {
    let read = stream.read_buf(buffer).await;
    let read = read.map_err(|error| SendFailure::by(AttemptFailure::Transport, &error))?;
    if read == 0 {
        let closed = format!("the {peer} closed the connection");
        return Err(SendFailure::new(AttemptFailure::Transport, closed));
    }
    Ok(())
}
