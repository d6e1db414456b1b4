//! The import of documents: each is given to the formats that recognize it.

use serde_json::Value;

use crate::formats::{FORMATS, Format, Page, ROUTE_FORMATS, RouteFormat};
use crate::routes::ImportedRoutes;
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

/// The routes of documents that belong together, for `routes.toml` of the proxy: each with its hosts, its path, its
/// servers and its policy. Only Envoy and Istio have them.
///
/// ```
/// use stagger_import::{SettingsDocument, import_routes};
/// let text = "
/// virtual_hosts:
///   - domains: [shop.example]
///     routes:
///       - name: orders
///         match: { prefix: /orders/ }
///         route: { cluster: orders, retry_policy: { num_retries: 2 } }
/// clusters:
///   - name: orders
///     load_assignment:
///       endpoints:
///         - lb_endpoints:
///             - endpoint: { address: { socket_address: { address: 10.0.0.7, port_value: 8080 } } }
/// ";
/// let found = import_routes(&SettingsDocument::read(text)?, None)?;
/// assert_eq!(found.routes[0].upstream, ["http://10.0.0.7:8080"]);
/// assert_eq!(found.routes[0].policy.limits().max_attempts(), Some(3));
/// # Ok::<(), stagger_import::ImportError>(())
/// ```
///
/// # Errors
/// A format without routes; documents without any route that the proxy can take, with the first refusal.
pub fn import_routes(
    documents: &[SettingsDocument],
    from: Option<ImportSource>,
) -> Result<ImportedRoutes, ImportError> {
    let formats =
        ROUTE_FORMATS.iter().filter(|format| from.is_none_or(|from| from == format.source));
    let formats: Vec<&RouteFormat> = formats.collect();
    let named =
        ROUTE_FORMATS.iter().map(|format| format.source.name()).collect::<Vec<_>>().join(" or ");
    if let (Some(from), []) = (from, formats.as_slice()) {
        let bound =
            format!("{named}: settings of other products do not name the servers of their routes");
        return Err(ImportError::new("from", from, bound));
    }
    let pages = pages(documents);
    let mut found = ImportedRoutes::default();
    let mut known = vec![false; pages.len()];
    for format in formats {
        let numbers: Vec<usize> =
            (0..pages.len()).filter(|number| (format.recognizes)(pages[*number].tree)).collect();
        let before = found.routes.len();
        numbers.iter().for_each(|number| known[*number] = true);
        let own: Vec<Page<'_>> = numbers.iter().map(|number| pages[*number].again()).collect();
        (format.routes)(&own, &mut found);
        if found.routes.len() > before {
            found.imported.sources.push(format.source);
        }
    }
    for (page, _) in pages.iter().zip(&known).filter(|(_, known)| !**known) {
        let found_keys = self::found(page.tree);
        found.imported.unknown.push(UnknownDocument { document: page.document, found: found_keys });
    }
    if !found.routes.is_empty() {
        return Ok(found);
    }
    Err(match found.imported.refused() {
        Some(refused) => refused.clone(),
        None => ImportError::new("", "no routes found", format!("a file with routes of {named}")),
    })
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
