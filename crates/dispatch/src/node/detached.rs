//! Work that must not stop halfway.

use std::future::Future;

use crate::Error;

/// Runs `work` to its end even if its caller stops waiting: otherwise store and memory could
/// differ.
pub(super) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let cut_off = |_| Err(Error::busy("the dispatcher stopped during the change"));
    tokio::spawn(work).await.unwrap_or_else(cut_off)
}
