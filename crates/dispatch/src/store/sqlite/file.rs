//! The data folder, which one process works on, and its database file: made, opened, and brought to
//! this version.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use stagger::Span;

use super::db_error::failed_at;
use crate::Error;

/// The migrations, each from version n - 1 to version n. Only ever added to.
const MIGRATIONS: [&str; VERSION as usize] = [include_str!("migrations/1.sql")];
/// The version that this release writes.
pub(super) const VERSION: u32 = 1;
/// The bytes "stgr": they mark our files among other SQLite databases.
const APPLICATION_ID: i32 = 0x7374_6772;
/// Prepared statements that each connection keeps: all that there are.
const STATEMENTS: usize = 64;

/// The database file in a data folder.
pub(super) fn path_in(folder: &Path) -> PathBuf {
    folder.join("stagger.db")
}

/// Whether there is a database file in a data folder.
pub(in crate::store) fn has_store(folder: &Path) -> bool {
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
        db.execute_batch(WRITER)?;
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok::<_, rusqlite::Error>(db)
    };
    let db = open().map_err(|e| failed_at(path, e))?;
    recognise(&db, path)?;
    migrate(&db, VERSION).map_err(|e| failed_at(path, e))?;
    Ok(db)
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
    if (id, version) != (0, 0) && id != APPLICATION_ID {
        return Err(failed_at(path, "a database, but not one of stagger's"));
    }
    Ok(version)
}

const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;

/// Settings of the writer's connection. Space can be given back only if `auto_vacuum` comes first.
/// Checkpoints are the writer's own business, and the log is cut back to 64 MiB after them. Never
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
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::test_folder::TestFolder;
    use super::super::{SqliteOptions, SqliteStore};
    use super::*;

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
        assert!(refused.to_string().contains("stagger.db: its version 2 is newer than 1"));
        assert_eq!(version(&db).unwrap(), VERSION + 1);
    }

    #[test]
    fn a_foreign_database_is_refused() {
        let folder = TestFolder::new();
        make_folder(&folder).unwrap();
        let db = Connection::open(path_in(&folder)).unwrap();
        db.execute_batch("CREATE TABLE theirs (a); PRAGMA user_version = 1;").unwrap();
        let refused = SqliteStore::open(&*folder, SqliteOptions::default()).unwrap_err();
        assert!(refused.to_string().contains("not one of stagger's"), "{refused}");
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
}
