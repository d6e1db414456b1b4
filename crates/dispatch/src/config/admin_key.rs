//! The key that may do everything: given, or made once and kept in the data folder.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::model::KeyHash;
use crate::sign::os_bytes;

/// The file of a key that was made, within the data folder.
const FILE: &str = "admin.key";
/// Random bytes of a key that is made.
const BYTES: usize = 32;

/// The admin's key. Its `Debug` does not show it.
#[derive(Clone)]
pub struct AdminKey {
    key: String,
    source: AdminKeySource,
}

#[derive(Clone, Debug)]
enum AdminKeySource {
    Given,
    /// Made for this process, and in its memory only.
    Made,
    Kept(PathBuf),
}

impl AdminKey {
    /// A given key.
    #[must_use]
    pub fn given(key: String) -> Self {
        Self { key, source: AdminKeySource::Given }
    }

    /// A new key that is kept nowhere.
    ///
    /// # Errors
    /// The system has no random bytes to give.
    pub fn made() -> Result<Self, Error> {
        Ok(Self { key: random()?, source: AdminKeySource::Made })
    }

    /// The key in the folder `data`, which is made, folder and key, if there is none. Only its owner can
    /// read the file.
    ///
    /// # Errors
    /// The file cannot be read or written; it is empty.
    pub fn kept_in(data: &Path) -> Result<Self, Error> {
        let file = data.join(FILE);
        let failed = |error: io::Error| Error::store(format!("{}: {error}", file.display()));
        fs::create_dir_all(data).map_err(failed)?;
        match fs::read_to_string(&file) {
            Ok(text) if text.trim().is_empty() => Err(Error::invalid(
                "admin_key",
                file.display(),
                "a file with a key in it; delete it to have one made",
            )),
            Ok(text) => {
                Ok(Self { key: text.trim().to_owned(), source: AdminKeySource::Kept(file) })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let key = random()?;
                write(&file, &key).map_err(failed)?;
                Ok(Self { key, source: AdminKeySource::Kept(file) })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The hash against which requests are checked.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.key)
    }

    /// The key itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.key
    }

    /// The file that holds it, if one does.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            AdminKeySource::Kept(file) => Some(file),
            AdminKeySource::Given | AdminKeySource::Made => None,
        }
    }

    /// The key itself if it was made and is kept in no file: unless it is shown at the start, no caller
    /// can ever have it.
    #[must_use]
    pub fn made_for_this_run(&self) -> Option<&str> {
        matches!(self.source, AdminKeySource::Made).then_some(self.key.as_str())
    }
}

impl fmt::Debug for AdminKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminKey").field("source", &self.source).finish_non_exhaustive()
    }
}

fn random() -> Result<String, Error> {
    let bytes: [u8; BYTES] = os_bytes()?;
    Ok(bytes.iter().fold(String::from("admin_"), |text, byte| text + &format!("{byte:02x}")))
}

/// Written whole or not at all: a reader never sees half a key.
fn write(file: &Path, key: &str) -> io::Result<()> {
    let draft = file.with_extension("key.draft");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(&draft)?;
    writeln!(open, "{key}")?;
    open.sync_all()?;
    fs::rename(&draft, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_made_and_kept_nowhere_could_not_be_learned() {
        let made = AdminKey::made().expect("the system has randomness");
        assert_eq!((made.made_for_this_run(), made.file()), (Some(made.reveal()), None));
        assert!(!format!("{made:?}").contains(made.reveal()));
        let given = AdminKey::given("a key of sixteen or more".to_owned());
        assert_eq!((given.made_for_this_run(), given.file()), (None, None));
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_can_read_it() {
        let folder = std::env::temp_dir().join(format!("stagger-admin-key-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let made = AdminKey::kept_in(&folder).expect("writable");
        let read = AdminKey::kept_in(&folder).expect("readable");
        assert_eq!(made.reveal(), read.reveal());
        assert!(!format!("{made:?}").contains(made.reveal()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode =
                fs::metadata(made.file().expect("kept")).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        fs::write(made.file().expect("kept"), "\n").expect("writable");
        assert!(AdminKey::kept_in(&folder).is_err_and(|error| error.is_invalid()));
        fs::remove_dir_all(&folder).expect("ours");
    }
}
