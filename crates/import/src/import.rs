//! The import of documents: each is given to the formats that recognize it.

use serde_json::Value;

use crate::formats::{FORMATS, Format, Page};
use crate::{ImportError, ImportSource, Imported, SettingsDocument, UnknownDocument};

/// The policies of a settings text. Without `from`, the keys of each document tell its formats.
///
/// # Errors
/// A text that no notation fits; one of no known format, with what was found in it; a setting that is out of
/// bounds, if no other entry of the text could be read.
pub fn import(text: &str, from: Option<ImportSource>) -> Result<Imported, ImportError> {
    import_documents(&SettingsDocument::read(text)?, from)
}

/// The policies of documents that belong together, such as those of one folder: one may refer to another.
///
/// # Errors
/// As [`import()`].
pub fn import_documents(
    documents: &[SettingsDocument],
    from: Option<ImportSource>,
) -> Result<Imported, ImportError> {
    let pages = pages(documents);
    let mut imported = Imported::default();
    let mut known = vec![false; pages.len()];
    for format in FORMATS.iter().filter(|format| from.is_none_or(|from| from == format.source)) {
        let numbers: Vec<usize> = (0..pages.len())
            .filter(|number| from.is_some() || (format.recognizes)(pages[*number].tree))
            .collect();
        if numbers.is_empty() {
            continue;
        }
        let own: Vec<Page<'_>> = numbers.iter().map(|number| pages[*number].again()).collect();
        numbers.iter().for_each(|number| known[*number] = true);
        read(format, &own, &mut imported)?;
    }
    for (page, _) in pages.iter().zip(&known).filter(|(_, known)| !**known) {
        let found = found(page.tree);
        imported.unknown.push(UnknownDocument { document: page.document, found });
    }
    imported.policies.sort_by_key(|policy| policy.document);
    whole(imported, from)
}

/// Whether a document has settings of a known format, whether or not they can be read.
///
/// ```
/// use stagger_import::{SettingsDocument, is_known};
/// let documents = SettingsDocument::read("retry_policy: { num_retries: 3 }\n---\nkind: Deployment\n")?;
/// assert_eq!(documents.iter().map(is_known).collect::<Vec<_>>(), [true, false]);
/// # Ok::<(), stagger_import::ImportError>(())
/// ```
#[must_use]
pub fn is_known(document: &SettingsDocument) -> bool {
    let pages = pages(std::slice::from_ref(document));
    pages.iter().any(|page| FORMATS.iter().any(|format| (format.recognizes)(page.tree)))
}

fn read(format: &Format, pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    let before = imported.policies.len();
    (format.import)(pages, imported)?;
    if imported.policies.len() > before {
        imported.sources.push(format.source);
    }
    Ok(())
}

/// Documents, and the items of those that are lists of resources.
fn pages(documents: &[SettingsDocument]) -> Vec<Page<'_>> {
    let mut pages = Vec::new();
    for (document, tree) in documents.iter().map(SettingsDocument::tree).enumerate() {
        let list =
            tree.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
        match tree.get("items").and_then(Value::as_array).filter(|_| list) {
            Some(items) => pages.extend(items.iter().enumerate().map(|(number, tree)| {
                let path = format!("items.{number}");
                Page { document, path, tree }
            })),
            None => pages.push(Page { document, path: String::new(), tree }),
        }
    }
    pages
}

/// The import if there is anything in it, or else the reason why there is nothing.
fn whole(imported: Imported, from: Option<ImportSource>) -> Result<Imported, ImportError> {
    if !imported.policies.is_empty() {
        return Ok(imported);
    }
    if let Some(error) = imported.refused() {
        return Err(error.clone());
    }
    let known = ImportSource::all().map(ImportSource::name).collect::<Vec<_>>().join(", ");
    let found: Vec<&str> = imported.unknown.iter().map(|unknown| unknown.found.as_str()).collect();
    Err(match (from, found.is_empty()) {
        (None, false) => {
            let value = format!("no settings of a known format (found {})", found.join("; "));
            ImportError::new("", value, format!("one of {known}; say which by --from"))
        }
        (Some(source), _) => {
            let bound = format!("a file with retry settings of {source}");
            ImportError::new("", "no retry settings found", bound)
        }
        (None, true) => {
            let bound = format!("a file with retry settings of one of {known}");
            ImportError::new("", "no retry settings found", bound)
        }
    })
}

/// The subject of a document: its kind, or keys that sound like retries, or its first keys.
fn found(tree: &Value) -> String {
    let text = |key: &str| tree.get(key).and_then(Value::as_str);
    if let (Some(version), Some(kind)) = (text("apiVersion"), text("kind")) {
        return format!("kind {kind} of {version}");
    }
    let mut about = Vec::new();
    about_retries("", tree, &mut about);
    if about.is_empty() {
        about = tree.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
    }
    about.truncate(3);
    match about.as_slice() {
        [] => "a list".to_owned(),
        keys => format!("the keys {}", keys.join(", ")),
    }
}

fn about_retries(path: &str, tree: &Value, about: &mut Vec<String>) {
    for (key, value) in tree.as_object().into_iter().flatten() {
        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let lower = key.to_lowercase();
        if !value.is_object() && (path.to_lowercase().contains("retr") || lower.contains("retr")) {
            about.push(at);
        } else {
            about_retries(&at, value, about);
        }
    }
}
