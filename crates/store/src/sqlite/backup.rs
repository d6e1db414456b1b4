//! Copies of the store: backup, restore, and the check of all its rows.

use std::fs;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use stagger::Span;

use super::file::FolderLock;
use super::row::failed_at;
use super::{file, lookups};
use crate::{Error, Health};

/// Copies the store of a data folder to the new file `to`, readable by its owner only: all of it, as it
/// is at one moment. Works beside a running dispatcher, which does not wait for it.
///
/// # Errors
/// There is no store; `to` is there already; the disk is full or broken. No half a copy stays.
pub fn backup(folder: &Path, to: &Path) -> Result<(), Error> {
    if to.exists() {
        return Err(Error::conflict(format!("{} already exists", to.display())));
    }
    let from = file::open_read_only(&file::path_in(folder), LOCK_WAIT)?;
    file::recognise(&from, &file::path_in(folder))?;
    let partial = beside(to, "partial");
    let copied = copy(&from, &partial).and_then(|()| put_in_place(&partial, to));
    if copied.is_err() {
        fs::remove_file(&partial).ok();
    }
    copied
}

/// Replaces the store of a data folder, which may have none, by the copy `from`. The replacement is
/// one step; until then the old store stays as it is.
///
/// # Errors
/// A conflict when a dispatcher uses the folder; `from` is damaged, not one of ours, or of a later
/// release; the disk is full or broken.
pub fn restore(from: &Path, folder: &Path) -> Result<(), Error> {
    check(from)?;
    file::make_folder(folder)?;
    let _lock = FolderLock::take(folder)?;
    let (to, partial) = (file::path_in(folder), beside(&file::path_in(folder), "partial"));
    fs::remove_file(&partial).or_else(missing_is_fine).map_err(|e| failed_at(&partial, e))?;
    let source = file::open_read_only(from, LOCK_WAIT)?;
    let restored = copy(&source, &partial)
        .and_then(|()| check(&partial).map(drop))
        .and_then(|()| end_log(&to))
        .and_then(|()| put_in_place(&partial, &to));
    if restored.is_err() {
        fs::remove_file(&partial).ok();
    }
    restored
}

/// Copies page by page into a new file that needs no log beside it.
fn copy(from: &Connection, to: &Path) -> Result<(), Error> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    made.map_err(|e| failed_at(to, e))?;
    let all = || {
        let mut copy = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Backup::new(from, &mut copy)?.step(ALL_PAGES)?;
        copy.pragma_update(None, "journal_mode", "DELETE")
    };
    all().map_err(|e: rusqlite::Error| failed_at(to, e))
}

/// In one step, so that no write of the dispatcher comes between.
const ALL_PAGES: i32 = -1;

/// Brings the log of the store that is to be replaced to its end, so that it is not taken for that of
/// the new one. A store too damaged for that loses its log.
fn end_log(store: &Path) -> Result<(), Error> {
    if store.exists()
        && let Ok(db) = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE)
    {
        db.pragma_update(None, "journal_mode", "DELETE").ok();
    }
    for suffix in ["wal", "shm"] {
        let mut name = store.as_os_str().to_owned();
        name.push(format!("-{suffix}"));
        let path = PathBuf::from(name);
        fs::remove_file(&path).or_else(missing_is_fine).map_err(|e| failed_at(&path, e))?;
    }
    Ok(())
}

fn put_in_place(partial: &Path, to: &Path) -> Result<(), Error> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let place = || {
        File::open(partial)?.sync_all()?;
        fs::rename(partial, to)?;
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    };
    place().map_err(|e| failed_at(to, e))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{suffix}"));
    name.into()
}

fn missing_is_fine(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Looks through a store's file, or the one in a data folder: all its pages, its indexes, and its
/// counts. Works beside a running dispatcher, and only reads.
///
/// # Errors
/// The file cannot be read, is not one of ours, is of a later release, or is damaged; the error
/// names it and the first damage.
pub fn check(path: &Path) -> Result<Health, Error> {
    let path = if path.is_dir() { file::path_in(path) } else { path.to_owned() };
    let db = file::open_read_only(&path, LOCK_WAIT)?;
    let version = file::recognise(&db, &path)?;
    let damage = damage(&db).map_err(|e| failed_at(&path, e))?;
    if let Some(damage) = damage {
        return Err(failed_at(&path, damage));
    }
    let counted = || {
        let messages: i64 = db.query_row("SELECT count(*) FROM message", [], |row| row.get(0))?;
        Ok::<_, rusqlite::Error>((messages.cast_unsigned(), lookups::read_counts(&db, None)?))
    };
    let (messages, deliveries) = counted().map_err(|e| failed_at(&path, e))?;
    Ok(Health { version, messages, deliveries })
}

/// The longest wait for a lock.
pub(super) const LOCK_WAIT: Span = Span::from_secs(5);

fn damage(db: &Connection) -> rusqlite::Result<Option<String>> {
    let moment = db.unchecked_transaction()?;
    let found: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(Some(found));
    }
    let (kept, counted) = (lookups::read_counts(db, None)?, lookups::recount(db, None)?);
    let wrong = format!("deliveries are counted as {kept:?}, but are {counted:?}");
    moment.commit()?;
    Ok((kept != counted).then_some(wrong))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use stagger_scheduler::model::DeliveryState;

    use super::super::test_folder::TestFolder;
    use super::*;
    use crate::DeliveryStore;
    use crate::testing::fixture::{furnish, message, msg};

    #[tokio::test]
    async fn a_copy_made_beside_a_running_store_can_be_restored() {
        let (folder, other) = (TestFolder::new(), TestFolder::new());
        let store = folder.open();
        furnish(&store).await;
        store.accept((1..=50).map(|n| message(n, 1, &[1, 2])).collect()).await.unwrap();
        let copy = folder.join("copy.db");
        backup(&folder, &copy).unwrap();
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        store.accept(vec![message(51, 1, &[1])]).await.unwrap();
        assert!(backup(&folder, &copy).unwrap_err().is_conflict());

        let health = check(&copy).unwrap();
        assert_eq!((health.version, health.messages), (file::VERSION, 50));
        assert_eq!(health.deliveries.of(DeliveryState::Pending), 100);
        restore(&copy, &other).unwrap();
        let restored = other.open();
        assert_eq!(restored.open_deliveries(None, 999).await.unwrap().len(), 100);
        assert!(restored.message(msg(51)).await.unwrap().is_none());
        assert!(restored.endpoints().await.unwrap() == store.endpoints().await.unwrap());
    }

    #[tokio::test]
    async fn a_restored_copy_replaces_the_store_and_its_log() {
        let (folder, other) = (TestFolder::new(), TestFolder::new());
        let store = folder.open();
        furnish(&store).await;
        store.accept(vec![message(1, 1, &[1])]).await.unwrap();
        let copy = folder.join("copy.db");
        backup(&folder, &copy).unwrap();
        store.accept((2..=50).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
        assert!(restore(&copy, &folder).unwrap_err().is_conflict());
        // The store as a crash would leave it, with a log beside it.
        file::make_folder(&other).unwrap();
        for name in ["stagger.db", "stagger.db-wal"] {
            fs::copy(folder.join(name), other.join(name)).unwrap();
        }
        restore(&copy, &other).unwrap();
        assert_eq!(check(&other).unwrap().messages, 1);
        assert_eq!(other.open().open_deliveries(None, 99).await.unwrap().len(), 1);
        assert_eq!(check(&folder).unwrap().messages, 50);
    }

    #[tokio::test]
    async fn a_damaged_copy_is_refused_and_the_store_stays() {
        let folder = TestFolder::new();
        let store = folder.open();
        furnish(&store).await;
        store.accept((1..=200).map(|n| message(n, 1, &[1])).collect()).await.unwrap();
        let copy = folder.join("copy.db");
        backup(&folder, &copy).unwrap();
        drop(store);
        let mut bytes = fs::read(&copy).unwrap();
        let half = bytes.len() / 2;
        bytes[half..half + 9000].fill(0xA5);
        fs::write(&copy, &bytes).unwrap();
        assert!(restore(&copy, &folder).is_err());
        fs::write(&copy, b"not a database at all, but some bytes of text").unwrap();
        assert!(restore(&copy, &folder).is_err());
        assert!(restore(&folder.join("missing"), &folder).is_err());
        assert_eq!(check(&folder).unwrap().messages, 200);
        assert_eq!(folder.open().open_deliveries(None, 999).await.unwrap().len(), 200);
    }

    #[test]
    fn without_a_store_there_is_nothing_to_copy() {
        let folder = TestFolder::new();
        file::make_folder(&folder).unwrap();
        assert!(backup(&folder, &folder.join("copy.db")).is_err());
        assert_eq!(fs::read_dir(&*folder).unwrap().count(), 0);
    }
}
