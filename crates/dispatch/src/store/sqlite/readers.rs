//! Connections that only read. Readers never wait for the writer, nor it for them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use stagger::Span;
use tokio::sync::Semaphore;

use super::db_error::failed;
use super::file;
use crate::Error;

/// A few connections, opened when they are first needed. Each is lent to one thread at a time.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    lock_wait: Span,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    /// At most `count` connections to `path`.
    pub(super) fn new(path: PathBuf, count: usize, lock_wait: Span) -> Self {
        let permits = Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self { path, lock_wait, idle: Mutex::default(), permits }
    }

    /// Reads with one connection; all that `read` sees is of one moment.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let closed = |_| Error::store("closed");
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(closed)?;
        let readers = Arc::clone(self);
        let work = move || {
            let _permit = permit;
            readers.read_here(read)
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::store(e.to_string()))?
    }

    fn read_here<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let idle = self.idle().pop();
        let db = idle.map_or_else(|| file::open_read_only(&self.path, self.lock_wait), Ok)?;
        let moment = db.unchecked_transaction().map_err(|e| failed(&e))?;
        let found = read(&db).map_err(|e| failed(&e))?;
        moment.commit().map_err(|e| failed(&e))?;
        self.idle().push(db);
        Ok(found)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // The list is whole between any two of its calls.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
