//! The file of the store: opened, migrated, its write-ahead log kept short; and the connections that read.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::num::NonZeroUsize;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use stagger::Span;
use tokio::sync::Semaphore;

use super::row::{failed, failed_at};
use crate::Error;

/// The migrations, each from version n - 1 to version n. Only ever added to.
const MIGRATIONS: [&str; VERSION as usize] = [
    include_str!("migrations/1.sql"),
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
];

/// The version that this release writes.
pub(super) const VERSION: u32 = 4;

/// The bytes "stgr": they mark our files among other SQLite databases.
const APPLICATION_ID: i32 = 0x7374_6772;

/// Prepared statements that each connection keeps: all that there are.
const STATEMENTS: usize = 64;

/// The database file in a data folder.
pub(super) fn path_in(folder: &Path) -> PathBuf {
    folder.join("stagger.db")
}

/// Whether there is a database file in a data folder.
pub(crate) fn has_store(folder: &Path) -> bool {
    path_in(folder).exists()
}

/// Makes the folder if it is missing, readable by its owner only.
pub(super) fn make_folder(folder: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| failed_at(folder, e))
}

/// Makes an empty file, readable by its owner only, unless it is there. The files that SQLite puts
/// beside it have its mode.
pub(super) fn make_file(path: &Path) -> Result<(), Error> {
    let made = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    made.map(drop).map_err(|e| failed_at(path, e))
}

/// Opens the database for the writer, and brings it to this version.
pub(super) fn open(path: &Path, lock_wait: Span) -> Result<Connection, Error> {
    make_file(path)?;
    let open = || {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | FLAGS)?;
        db.busy_timeout(lock_wait.into())?;
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok::<_, rusqlite::Error>(db)
    };
    let db = open().map_err(|e| failed_at(path, e))?;
    // Before anything is written: the file may be another program's.
    recognise(&db, path)?;
    db.execute_batch(WRITER).map_err(|e| failed_at(path, e))?;
    migrate(&db, VERSION).map_err(|e| failed_at(path, e))?;
    Ok(db)
}

/// Opens the database for checkpoints beside the writer.
pub(super) fn open_to_checkpoint(path: &Path, lock_wait: Span) -> Result<Connection, Error> {
    let open = || {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | FLAGS)?;
        db.busy_timeout(lock_wait.into())?;
        db.execute_batch("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;")?;
        Ok::<_, rusqlite::Error>(db)
    };
    open().map_err(|e| failed_at(path, e))
}

/// Opens the database only to read; also while another process works on it.
pub(super) fn open_read_only(path: &Path, lock_wait: Span) -> Result<Connection, Error> {
    let open = || {
        let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | FLAGS)?;
        db.busy_timeout(lock_wait.into())?;
        db.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cache_size = -2000;")?;
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok::<_, rusqlite::Error>(db)
    };
    open().map_err(|e| failed_at(path, e))
}

/// The version of the database, if it is ours and not of a later release.
pub(super) fn recognise(db: &Connection, path: &Path) -> Result<u32, Error> {
    let number = |pragma| db.pragma_query_value(None, pragma, |row| row.get(0));
    let read = || Ok::<(i32, u32), rusqlite::Error>((number("application_id")?, version(db)?));
    let (id, version) = read().map_err(|e| failed_at(path, e))?;
    if version > VERSION {
        let newer = format!("its version {version} is newer than {VERSION}, that of this release");
        return Err(failed_at(path, newer));
    }
    let foreign = if (id, version) == (0, 0) {
        has_tables(db).map_err(|e| failed_at(path, e))?
    } else {
        id != APPLICATION_ID
    };
    if foreign {
        return Err(failed_at(path, "a database, but not one of stagger's"));
    }
    Ok(version)
}

/// Whether there is anything in the database: many programs set neither id nor version.
fn has_tables(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;

/// Settings of the writer's connection. Space can be given back only if `auto_vacuum` comes first.
/// Checkpoints have a thread of their own, and the log is cut back to 64 MiB after them. Never
/// `mmap_size`: a stray write of the process would reach the file.
const WRITER: &str = "PRAGMA auto_vacuum = INCREMENTAL;
     PRAGMA journal_mode = WAL;
     PRAGMA synchronous = FULL;
     PRAGMA wal_autocheckpoint = 0;
     PRAGMA journal_size_limit = 67108864;
     PRAGMA cache_size = -16000;
     PRAGMA temp_store = MEMORY;
     PRAGMA trusted_schema = OFF;";

fn version(db: &Connection) -> rusqlite::Result<u32> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings the database to version `to`, all steps or none.
fn migrate(db: &Connection, to: u32) -> rusqlite::Result<()> {
    let at = version(db)?;
    if at == to {
        return Ok(());
    }
    let whole = db.unchecked_transaction()?;
    for (_, step) in (1..=to).zip(MIGRATIONS).filter(|(version, _)| *version > at) {
        db.execute_batch(step)?;
    }
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", to)?;
    whole.commit()
}

/// The lock on a data folder; released when dropped, also by the death of the process.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the lock of `folder`.
    pub(super) fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("stagger.lock");
        let open =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = open.map_err(|e| Error::store(format!("{}: {e}", path.display())))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::conflict(format!(
                "{} is locked: another dispatcher uses this folder",
                path.display()
            ))),
            Err(TryLockError::Error(e)) => Err(Error::store(format!("{}: {e}", path.display()))),
        }
    }
}

/// Pages in the log, and the number of them that are in the file.
pub(super) fn checkpoint(db: &Connection, mode: &str) -> rusqlite::Result<(i64, i64)> {
    let mut pragma = db.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    pragma.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
}

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

    /// Brings all of the log into the file, and empties it. Nothing may be reading.
    ///
    /// # Errors
    /// The disk is full, or another process reads: the log has what is missing in the file.
    pub(super) async fn checkpoint(self: &Arc<Self>) -> Result<(), Error> {
        let readers = Arc::clone(self);
        let work = move || {
            readers.idle().clear();
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | FLAGS;
            let truncate = || {
                let db = Connection::open_with_flags(&readers.path, flags)?;
                db.busy_timeout(readers.lock_wait.into())?;
                let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
                db.query_row(sql, [], |row| row.get::<_, bool>(0))
            };
            match truncate() {
                Ok(false) => Ok(()),
                Ok(true) => Err(Error::store("the log is in use, and stays beside the file")),
                Err(error) => Err(failed(&error)),
            }
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| Error::store(e.to_string()))?
    }

    fn read_here<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let idle = self.idle().pop();
        let db = idle.map_or_else(|| open_read_only(&self.path, self.lock_wait), Ok)?;
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

/// The bounds of the embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Writes that may wait for the writer; more are refused immediately with
    /// [`Error::busy`](crate::Error::busy), so that no memory fills with them. Default: 4096.
    pub queue: NonZeroUsize,
    /// Bytes of payloads that may wait for the writer, checked likewise. Default: 64 MiB.
    pub queue_bytes: usize,
    /// Connections that only read: default 4.
    pub readers: NonZeroUsize,
    /// The longest time that a write waits for a lock that another process holds on the file, such
    /// as an operator's shell: default 1 s.
    pub lock_wait: Span,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let queue = const { NonZeroUsize::new(4096).expect("above zero") };
        let readers = const { NonZeroUsize::new(4).expect("above zero") };
        Self { queue, queue_bytes: 64 << 20, readers, lock_wait: Span::from_secs(1) }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::test_folder::TestFolder;
    use super::super::{SqliteOptions, SqliteStore};
    use super::*;
    use crate::DeliveryStore;
    use crate::testing::fixture::{furnish, message};

    fn tables(db: &Connection) -> Vec<(String, Option<String>)> {
        let sql = "SELECT name, sql FROM sqlite_schema ORDER BY name";
        let mut find = db.prepare(sql).unwrap();
        let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn every_older_version_is_brought_to_this_one() {
        let new = TestFolder::new();
        drop(new.open());
        let expected = tables(&Connection::open(path_in(&new)).unwrap());
        for older in 0..VERSION {
            let folder = TestFolder::new();
            make_folder(&folder).unwrap();
            let db = Connection::open(path_in(&folder)).unwrap();
            migrate(&db, older).unwrap();
            drop(db);
            drop(folder.open());
            let db = Connection::open(path_in(&folder)).unwrap();
            assert_eq!(version(&db).unwrap(), VERSION);
            assert_eq!(tables(&db), expected, "from version {older}");
        }
    }

    #[test]
    fn a_database_of_a_later_release_is_refused() {
        let folder = TestFolder::new();
        drop(folder.open());
        let db = Connection::open(path_in(&folder)).unwrap();
        db.pragma_update(None, "user_version", VERSION + 1).unwrap();
        let refused = SqliteStore::open(&*folder, SqliteOptions::default()).unwrap_err();
        assert!(refused.to_string().contains("stagger.db: its version 5 is newer than 4"));
        assert_eq!(version(&db).unwrap(), VERSION + 1);
    }

    #[test]
    fn a_foreign_database_is_refused() {
        let folder = TestFolder::new();
        make_folder(&folder).unwrap();
        let db = Connection::open(path_in(&folder)).unwrap();
        for version in [1, 0] {
            let sql =
                format!("CREATE TABLE theirs_{version} (a); PRAGMA user_version = {version};");
            db.execute_batch(&sql).unwrap();
            let refused = SqliteStore::open(&*folder, SqliteOptions::default()).unwrap_err();
            assert!(refused.to_string().contains("not one of stagger's"), "{refused}");
        }
        let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "delete", "a file of others was changed");
    }

    #[test]
    fn only_the_owner_can_read_the_files() {
        let folder = TestFolder::new();
        let store = folder.open();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        for name in ["stagger.db", "stagger.db-wal", "stagger.db-shm"] {
            assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
        }
        drop(store);
    }

    #[test]
    fn two_dispatchers_never_share_a_folder() {
        let folder = TestFolder::new();
        let store = folder.open();
        let refused = SqliteStore::open(&*folder, SqliteOptions::default()).unwrap_err();
        assert!(refused.is_conflict() && refused.to_string().contains("stagger.lock"));
        drop(store);
        drop(folder.open());
    }

    /// After a clean stop once everything was in `stagger.db-wal`, and a copy of the file alone was empty.
    #[tokio::test]
    async fn a_copy_of_the_file_after_a_clean_stop_lacked_messages() {
        let folder = TestFolder::new();
        let store = folder.open();
        furnish(&store).await;
        store.accept(vec![message(1, 1, &[1])]).await.unwrap();
        assert_eq!(store.applications().await.unwrap().len(), 2, "a reader is open");
        assert!(folder.join("stagger.db-wal").metadata().unwrap().len() > 0);
        store.close().await.unwrap();
        assert_eq!(folder.join("stagger.db-wal").metadata().unwrap().len(), 0);
        let alone = TestFolder::new();
        make_folder(&alone).unwrap();
        std::fs::copy(path_in(&folder), path_in(&alone)).unwrap();
        let copy = alone.open();
        assert!(copy.message(crate::testing::fixture::msg(1)).await.unwrap().is_some());
        // Without the call too, as far as the process lives to drop it.
        store.accept(vec![message(2, 1, &[1])]).await.unwrap();
        drop(store);
        assert!(!folder.join("stagger.db-wal").exists());
    }

    #[tokio::test]
    async fn the_log_stays_small() {
        let folder = TestFolder::new();
        let store = folder.open();
        furnish(&store).await;
        let payload = bytes::Bytes::from(vec![7; 1 << 20]);
        let mut longest = 0;
        for n in 1.. {
            let mut new = message(n, 1, &[1]);
            new.payload = payload.clone();
            store.accept(vec![new]).await.unwrap();
            let log = folder.join("stagger.db-wal").metadata().unwrap().len();
            if log <= longest {
                break;
            }
            longest = log;
            // It begins anew at a quarter of that, unless the disk is very slow.
            assert!(log < 170 << 20, "{log} bytes of log for {n} MiB of payloads");
        }
    }
}
