//! A row of the list of formats.

use serde_json::{Map, Value};
use stagger_core::Policy;

use crate::routes::ImportedRoutes;
use crate::{ImportError, ImportSource, Imported};

/// All that the import and the export need to know of a format.
pub(crate) struct Format {
    pub(crate) source: ImportSource,
    /// Whether a document has settings of the format.
    pub(crate) recognizes: fn(&Value) -> bool,
    /// Reads the documents that it recognizes, together: one may refer to another.
    pub(crate) import: fn(&[Page<'_>], &mut Imported) -> Result<(), ImportError>,
    /// The writer, for a format that is written too.
    pub(crate) export: Option<Export>,
}

/// A writer of named policies; what it cannot say is found by reading its text again.
pub(crate) struct Export {
    pub(crate) write: fn(&[(&str, &Policy)]) -> String,
    /// The mark of a comment, if the notation has any.
    pub(crate) comment: Option<&'static str>,
}

/// A reader of routes, for a format whose settings name the servers of its routes.
pub(crate) struct RouteFormat {
    pub(crate) source: ImportSource,
    /// Whether a document has routes, or servers of routes.
    pub(crate) recognizes: fn(&Value) -> bool,
    /// Reads the documents that it recognizes, together.
    pub(crate) routes: fn(&[Page<'_>], &mut ImportedRoutes),
}

/// A document, or an item of a list of resources.
pub(crate) struct Page<'a> {
    /// The number of its document.
    pub(crate) document: usize,
    /// The path of the tree in the document, empty for a whole document.
    pub(crate) path: String,
    pub(crate) tree: &'a Value,
}

impl<'a> Page<'a> {
    /// The same page, for another format.
    pub(crate) fn again(&self) -> Self {
        Self { document: self.document, path: self.path.clone(), tree: self.tree }
    }

    /// The keys of the page, none for a list.
    pub(crate) fn map(&self) -> Option<&'a Map<String, Value>> {
        self.tree.as_object()
    }

    /// The path of something in the page.
    pub(crate) fn at(&self, path: &str) -> String {
        match (self.path.as_str(), path) {
            (own, "") => own.to_owned(),
            ("", path) => path.to_owned(),
            (own, path) => format!("{own}.{path}"),
        }
    }
}
