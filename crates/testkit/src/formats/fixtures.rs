//! The settings files of each format.

use std::path::Path;
use std::{fs, io};

use stagger_import::ImportSource;

/// A settings file.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The format, which is its folder.
    pub format: ImportSource,
    /// The name of the file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The settings files of every format, in the order of formats and names.
///
/// # Panics
/// A folder that is missing or cannot be read.
#[must_use]
pub fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/formats");
    let of = |format: ImportSource| {
        let folder = root.join(format.name());
        folder_of(format, &folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    };
    ImportSource::all().flat_map(of).collect()
}

fn folder_of(format: ImportSource, folder: &Path) -> io::Result<Vec<Fixture>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let fixture = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Fixture { format, name, text: fs::read_to_string(path)? })
    };
    paths.iter().map(fixture).collect()
}
