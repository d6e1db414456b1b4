//! A small file that the processes of one host share: one record of fixed length, read and written under a lock.
//!
//! The lock is exclusive (flock), and the kernel drops it with the process. A record is written by one call into one
//! page, so a process that is killed leaves the old record or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use stagger::{Clock, Pause, StdTime};
use stagger_core::Span;

/// The length of a record: the longest needs some 700 bytes, and all of it lies within one page.
pub(crate) const LENGTH: usize = 1024;
/// The longest wait for the lock. A change takes microseconds, so a thousand processes at once need far less; a process
/// that was stopped while it held the lock must not stop the others.
const LOCK_WAIT: Span = Span::from_secs(5);
/// The wait between two tries for the lock.
const LOCK_RETRY: Span = Span::from_millis(2);
/// Names that are tried for the draft of a new file.
const MAX_DRAFTS: u32 = 100;

/// The file, by its name.
#[derive(Debug)]
pub(crate) struct HostFile {
    path: PathBuf,
    lock_wait: Span,
}

impl HostFile {
    /// The file in `path`, which is made with `fresh` in it if there is none. The lock is waited for 5 s, or until
    /// `deadline` if that is shorter.
    ///
    /// # Errors
    /// A link, or something else that is no regular file; the system's refusal.
    pub(crate) fn open(path: &Path, deadline: Option<Span>, fresh: &[u8]) -> Result<Self, String> {
        let lock_wait = deadline.map_or(LOCK_WAIT, |deadline| deadline.min(LOCK_WAIT));
        let file = Self { path: path.to_owned(), lock_wait };
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => file.make(fresh)?,
            Err(error) => return Err(error.to_string()),
            Ok(_) => _ = file.handle()?,
        }
        Ok(file)
    }

    /// The path as people read it.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// A handle with the lock, which ends with it.
    ///
    /// # Errors
    /// A lock that does not come free in time; the system's refusal.
    pub(crate) fn lock(&self) -> Result<File, String> {
        let file = self.handle()?;
        let begun = StdTime.now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::WOULDBLOCK) if StdTime.now() - begun < self.lock_wait => {
                    StdTime.pause(LOCK_RETRY, None);
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(format!(
                        "another process has held its lock for {}",
                        self.lock_wait
                    ));
                }
                Err(error) => return Err(io::Error::from(error).to_string()),
            }
        }
    }

    /// Opens the file itself, never one that a link names: in a folder of everybody's, such as /tmp, a link could
    /// point to any file of this user's.
    fn handle(&self) -> Result<File, String> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = open(&self.path, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP => "must be a regular file, and is a link".to_owned(),
            error => io::Error::from(error).to_string(),
        })?;
        let file = File::from(opened);
        let found = file.metadata().map_err(|error| error.to_string())?;
        match found.is_file() {
            true => Ok(file),
            false => Err("must be a regular file".to_owned()),
        }
    }

    /// Makes the file with a whole record in it, for this user only; one that another process has made meanwhile stays.
    fn make(&self, record: &[u8]) -> Result<(), String> {
        let (draft, mut file) = self.draft().map_err(|error| error.to_string())?;
        let made = file.write_all(record).and_then(|()| match fs::hard_link(&draft, &self.path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        });
        let _ = fs::remove_file(&draft);
        made.map_err(|error| error.to_string())
    }

    /// A new file beside this one.
    fn draft(&self) -> io::Result<(PathBuf, File)> {
        for number in 0..MAX_DRAFTS {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{}.{number}", std::process::id()));
            let draft = PathBuf::from(name);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                opened => return opened.map(|file| (draft, file)),
            }
        }
        Err(io::Error::other("no free name for a new file beside it"))
    }
}

/// Reads the record of a locked file; `None` of an empty file, as `mktemp` makes it.
///
/// # Errors
/// A file of another length.
pub(crate) fn read(file: &File) -> Result<Option<[u8; LENGTH]>, ()> {
    let length = file.metadata().map_err(|_| ())?.len();
    if length == 0 {
        return Ok(None);
    }
    let mut bytes = [0; LENGTH];
    file.read_exact_at(&mut bytes, 0).map_err(|_| ())?;
    // OK because no target has pointers of more than 64 bits.
    if length == LENGTH as u64 { Ok(Some(bytes)) } else { Err(()) }
}

/// Writes a record into a locked file.
///
/// # Errors
/// The system's refusal.
pub(crate) fn write(file: &File, record: &[u8]) -> Result<(), String> {
    file.write_all_at(record, 0).map_err(|error| error.to_string())
}

/// The text of a record, filled up with blanks.
pub(crate) fn padded(mut text: Vec<u8>) -> Vec<u8> {
    text.resize(LENGTH - 1, b' ');
    text.push(b'\n');
    text
}

/// FNV-1a: against accidents, not against people.
pub(crate) fn check(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}
