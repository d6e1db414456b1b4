//! Settings of other products, read as policies without a conversion: their files, and places in them.

use std::ops::Range;
use std::path::Path;

use stagger_explain::PolicyFinding;
use stagger_import::{
    ImportError, ImportSource, Imported, ImportedRoutes, SettingsDocument, import_documents,
    import_routes, is_known,
};

use super::folder::holds_policies;

/// The ends of names that only files of other products have.
const FOREIGN: [&str; 7] = ["yaml", "yml", "properties", "conf", "cfg", "ini", "env"];

/// Files of other products, whose documents belong together.
#[derive(Debug, Default)]
pub(crate) struct ForeignFiles {
    files: Vec<ForeignFile>,
    documents: Vec<SettingsDocument>,
}

/// One file, and the numbers of its documents.
#[derive(Debug)]
pub(crate) struct ForeignFile {
    pub(crate) name: String,
    pub(crate) text: String,
    documents: Range<usize>,
}

impl ForeignFiles {
    /// Adds a file.
    ///
    /// # Errors
    /// A text that is in no known notation.
    pub(crate) fn add(&mut self, name: String, text: String) -> Result<(), ImportError> {
        let first = self.documents.len();
        self.documents.extend(SettingsDocument::read(&text)?);
        self.files.push(ForeignFile { name, text, documents: first..self.documents.len() });
        Ok(())
    }

    /// The policies of all files together.
    ///
    /// # Errors
    /// As of [`import_documents`].
    pub(crate) fn import(&self, from: Option<ImportSource>) -> Result<Imported, ImportError> {
        import_documents(&self.documents, from)
    }

    /// The routes of all files together.
    ///
    /// # Errors
    /// As of [`import_routes`].
    pub(crate) fn routes(&self, from: Option<ImportSource>) -> Result<ImportedRoutes, ImportError> {
        import_routes(&self.documents, from)
    }

    pub(crate) fn files(&self) -> &[ForeignFile] {
        &self.files
    }

    /// The name of a document's file.
    pub(crate) fn name_of(&self, document: usize) -> &str {
        let of = |file: &&ForeignFile| file.documents.contains(&document);
        self.files.iter().find(of).map_or("", |file| file.name.as_str())
    }

    /// The bytes that a path stands at, or the first byte of the file.
    pub(crate) fn place(&self, document: usize, path: &str) -> Range<usize> {
        let found = self.documents.get(document).and_then(|known| known.place(path));
        found.unwrap_or(0..0)
    }
}

impl ForeignFile {
    /// Whether a document is one of this file.
    pub(crate) fn has(&self, document: usize) -> bool {
        self.documents.contains(&document)
    }
}

/// Whether a file is one of another product: by the end of its name, or by its text.
pub(crate) fn is_foreign(file: &Path, text: &str) -> bool {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
    if FOREIGN.contains(&end) {
        return true;
    }
    end != "toml"
        && !holds_policies(text)
        && SettingsDocument::read(text).is_ok_and(|documents| documents.iter().any(is_known))
}

/// A finding whose fix names the setting of the product.
pub(crate) fn in_own_words(source: ImportSource, finding: PolicyFinding) -> PolicyFinding {
    let product = source.product();
    let fix = match source.setting(finding.key) {
        Some(setting) => format!("{setting} ({product}); as a policy: {}", finding.fix),
        None => format!("no setting of {product}; as a policy: {}", finding.fix),
    };
    PolicyFinding { fix, ..finding }
}
