//! The file of operators: followed while a dispatcher runs, and edited by `stagger operator`.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use stagger::{Instant, Span, StdTime};
use stagger_scheduler::model::KeyHash;
use subtle::ConstantTimeEq;

use super::Role;
use super::list::{self, MAX_OPERATORS, NAME_BOUND, OperatorEntry};
use crate::Error;
use crate::random::os_bytes;

/// Largest file: far more than the most operators need.
const MAX_FILE: u64 = 1 << 20;

/// Random bytes of a key: as many as its hash has.
const BYTES: usize = 32;

/// The file that names the operators with their roles, and has the hashes of their keys.
///
/// A running dispatcher follows it: a change is in force at the next request. A file that is missing names no
/// operator.
///
/// ```
/// use stagger_dispatch::access::{OperatorFile, Role};
/// # let folder = std::env::temp_dir().join(format!("stagger-operators-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).expect("a writable folder");
/// let file = OperatorFile::open(&folder.join("operators.toml"))?;
/// let key = file.add("alice", Role::Operator)?;
/// assert!(key.starts_with("op_") && file.add("alice", Role::Viewer).is_err());
/// assert_eq!(file.list()?, [("alice".to_owned(), Role::Operator)]);
/// file.remove("alice")?;
/// assert!(file.list()?.is_empty());
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), stagger_dispatch::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OperatorFile(Option<Arc<Followed>>);

#[derive(Debug)]
struct Followed {
    path: PathBuf,
    state: Mutex<Loaded>,
}

#[derive(Debug, Default)]
struct Loaded {
    version: Option<Version>,
    entries: Arc<[OperatorEntry]>,
    /// The time of the last use of each key.
    seen: BTreeMap<KeyHash, Instant>,
}

/// An operator of the file, and when its key was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenOperator {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// As a time since the Unix epoch; none since this process began.
    pub(crate) last_seen: Option<Instant>,
}

/// The facts that tell one content of the file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

impl OperatorFile {
    /// Reads the file, if it is there.
    ///
    /// # Errors
    /// It cannot be read, or is no list of operators: the message names file, line, value and bound.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (version, entries) = load(path)?;
        let state = Mutex::new(Loaded { version, entries, seen: BTreeMap::new() });
        Ok(Self(Some(Arc::new(Followed { path: path.to_owned(), state }))))
    }

    /// Adds an operator, and returns the new key, which is kept as its hash only.
    ///
    /// # Errors
    /// A name out of its bounds, or one that exists; there are 1000 operators; the file cannot be written, or
    /// is being edited.
    pub fn add(&self, name: &str, role: Role) -> Result<String, Error> {
        if !list::is_name(name) {
            return Err(Error::invalid("name", name, NAME_BOUND));
        }
        let key = format!("op_{}", URL_SAFE_NO_PAD.encode(os_bytes::<BYTES>()?));
        self.edit(|entries| {
            if entries.iter().any(|entry| entry.name == name) {
                return Err(Error::conflict(format!(
                    "operator {name} exists; remove it first to give it another key or role"
                )));
            }
            if entries.len() >= MAX_OPERATORS {
                return Err(Error::conflict(format!(
                    "there are {MAX_OPERATORS} operators already"
                )));
            }
            entries.push(OperatorEntry { name: name.to_owned(), role, key: KeyHash::of(&key) });
            Ok(())
        })?;
        Ok(key)
    }

    /// Removes an operator. Its sessions end, and its key is unknown from now on.
    ///
    /// # Errors
    /// There is no such operator; the file cannot be written, or is being edited.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.edit(|entries| {
            let before = entries.len();
            entries.retain(|entry| entry.name != name);
            if entries.len() == before { Err(Error::not_found("operator")) } else { Ok(()) }
        })
    }

    /// The operators with their roles, in the order of the file.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn list(&self) -> Result<Vec<(String, Role)>, Error> {
        let Some(followed) = &self.0 else { return Ok(Vec::new()) };
        let (_, entries) = load(&followed.path)?;
        Ok(entries.iter().map(|entry| (entry.name.clone(), entry.role)).collect())
    }

    /// The operator whose key has this hash. All are compared, however soon one fits.
    pub(super) fn find(&self, key: KeyHash) -> Option<(String, Role)> {
        let entries = self.0.as_ref()?.current();
        let fits = |entry: &OperatorEntry| bool::from(entry.key.as_bytes().ct_eq(key.as_bytes()));
        let found = entries
            .iter()
            .fold(None, |found, entry| if fits(entry) { Some(entry) } else { found })?;
        self.0.as_ref()?.see(key);
        Some((found.name.clone(), found.role))
    }

    /// The operators in force, in the order of the file.
    pub(super) fn seen(&self) -> Vec<SeenOperator> {
        self.0.as_ref().map_or_else(Vec::new, |followed| followed.seen())
    }

    /// Changes the list in a draft, which takes the file's place. The draft is also the lock: a second editor
    /// cannot make one.
    fn edit(
        &self,
        change: impl FnOnce(&mut Vec<OperatorEntry>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(followed) = &self.0 else {
            return Err(Error::conflict("no file of operators is set"));
        };
        let path = &followed.path;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|error| failed(folder, &error))?;
        }
        let draft = path.with_extension("toml.draft");
        let mut open = new_file(&draft).map_err(|error| cannot_edit(&draft, &error))?;
        let edited = load(path).and_then(|(_, entries)| {
            let mut entries = entries.to_vec();
            change(&mut entries)?;
            let written = open.write_all(list::print(&entries).as_bytes());
            written.and_then(|()| open.sync_all()).map_err(|error| failed(&draft, &error))?;
            fs::rename(&draft, path).map_err(|error| failed(path, &error))
        });
        if edited.is_err() {
            // The draft is ours. If it stays, the next edit names it.
            fs::remove_file(&draft).ok();
        }
        edited
    }
}

impl Followed {
    /// The operators now. While the file is no list of operators, the last good list stays in force.
    fn current(&self) -> Arc<[OperatorEntry]> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let version = version(&self.path).ok().flatten();
        if version != state.version {
            match load(&self.path) {
                Ok((version, entries)) => {
                    state.seen.retain(|key, _| entries.iter().any(|entry| entry.key == *key));
                    (state.version, state.entries) = (version, entries);
                }
                Err(error) => {
                    tracing::error!(%error, "operators file refused; the list before it stays");
                    state.version = version;
                }
            }
        }
        Arc::clone(&state.entries)
    }

    /// Notes that a key that is in the list is used now.
    fn see(&self, key: KeyHash) {
        let now = StdTime::wall().duration_since(UNIX_EPOCH).map_or(Span::ZERO, Span::from);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seen.insert(key, Instant::ORIGIN + now);
    }

    fn seen(&self) -> Vec<SeenOperator> {
        let entries = self.current();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = |entry: &OperatorEntry| SeenOperator {
            name: entry.name.clone(),
            role: entry.role,
            last_seen: state.seen.get(&entry.key).copied(),
        };
        entries.iter().map(seen).collect()
    }
}

/// The file with its version, which is read first, so that a change in between is seen as one.
fn load(path: &Path) -> Result<(Option<Version>, Arc<[OperatorEntry]>), Error> {
    let Some(version) = version(path).map_err(|error| failed(path, &error))? else {
        return Ok((None, Arc::default()));
    };
    if version.length > MAX_FILE {
        return Err(Error::invalid("operators_file", path.display(), "a file of at most 1 MiB"));
    }
    let text = fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    let entries = list::parse(&text)
        .map_err(|flaw| Error::conflict(flaw.line(&path.display().to_string(), &text)))?;
    Ok((Some(version), entries.into()))
}

fn version(path: &Path) -> io::Result<Option<Version>> {
    match fs::metadata(path) {
        Ok(facts) => Ok(Some(Version {
            inode: facts.ino(),
            length: facts.len(),
            changed: (facts.mtime(), facts.mtime_nsec()),
        })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn new_file(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn cannot_edit(draft: &Path, error: &io::Error) -> Error {
    if error.kind() == ErrorKind::AlreadyExists {
        let draft = draft.display();
        return Error::conflict(format!(
            "{draft} exists: another command edits the operators; if none does, delete it"
        ));
    }
    failed(draft, error)
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::store(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir()
                .join(format!("stagger-operators-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir(&folder).expect("a writable folder");
            Self(folder)
        }

        fn file(&self) -> PathBuf {
            self.0.join("operators.toml")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn a_running_dispatcher_missed_a_change_of_its_operators() {
        let folder = Folder::new("followed");
        let served = OperatorFile::open(&folder.file()).expect("none yet");
        let edited = OperatorFile::open(&folder.file()).expect("none yet");
        let key = edited.add("alice", Role::Operator).expect("a new one");
        let text = fs::read_to_string(folder.file()).expect("written");
        assert!(!text.contains(&key), "the key itself was kept");
        let mode = fs::metadata(folder.file()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let key = KeyHash::of(&key);
        assert_eq!(served.find(key), Some(("alice".into(), Role::Operator)));
        edited.remove("alice").expect("it is there");
        assert_eq!(served.find(key), None);
        assert!(edited.remove("alice").is_err_and(|error| error.is_not_found()));
    }

    #[test]
    fn another_key_of_the_same_name_was_seen_already() {
        let folder = Folder::new("seen");
        let file = OperatorFile::open(&folder.file()).expect("none yet");
        let key = KeyHash::of(&file.add("alice", Role::Viewer).expect("a new one"));
        let last_seen = || file.seen().first().map(|alice| alice.last_seen.is_some());
        assert_eq!(last_seen(), Some(false));
        assert!(file.find(key).is_some());
        assert_eq!(last_seen(), Some(true));
        file.remove("alice").expect("there");
        assert_eq!(file.seen(), []);
        file.add("alice", Role::Admin).expect("free again");
        assert_eq!(last_seen(), Some(false));
    }

    #[test]
    fn a_broken_file_locked_all_operators_out() {
        let folder = Folder::new("broken");
        let served = OperatorFile::open(&folder.file()).expect("none yet");
        let key = KeyHash::of(&served.add("alice", Role::Viewer).expect("a new one"));
        assert!(served.find(key).is_some());
        fs::write(folder.file(), "[[operator").expect("writable");
        assert_eq!(served.find(key), Some(("alice".into(), Role::Viewer)));
        let error = OperatorFile::open(&folder.file()).expect_err("broken").to_string();
        assert!(error.contains("operators.toml:1:"), "{error}");
        fs::remove_file(folder.file()).expect("there");
        assert_eq!(served.find(key), None);
    }

    #[test]
    fn two_edits_at_one_time_lost_one() {
        let folder = Folder::new("draft");
        let file = OperatorFile::open(&folder.file()).expect("none yet");
        let draft = folder.0.join("operators.toml.draft");
        fs::write(&draft, "").expect("writable");
        let error = file.add("alice", Role::Viewer).expect_err("locked").to_string();
        assert!(error.contains("operators.toml.draft exists"), "{error}");
        fs::remove_file(&draft).expect("there");
        file.add("alice", Role::Viewer).expect("free");
        assert!(file.add("alice", Role::Admin).is_err_and(|error| error.is_conflict()));
        assert!(!draft.exists());
        for wrong in ["", "admin", "a b", &"x".repeat(65)] {
            assert!(
                file.add(wrong, Role::Viewer).is_err_and(|error| error.is_invalid()),
                "{wrong}"
            );
        }
    }
}
