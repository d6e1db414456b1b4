//! The import of a settings file: the reader of its product, and the refusal of a file without retries.

use serde_json::Value;

use crate::table::plain;
use crate::tree::tree;
use crate::{ImportError, ImportSource, Imported, envoy, grpc, polly, resilience4j};

/// The policies of a settings file. Without `from`, its keys tell whose it is.
///
/// # Errors
/// A text that is none of JSON, YAML and properties; one that has no keys of a known product; a
/// setting that is out of bounds.
pub fn import(text: &str, from: Option<ImportSource>) -> Result<Imported, ImportError> {
    let tree = tree(text)?;
    let found =
        from.or_else(|| ImportSource::ALL.into_iter().find(|source| has(&tree, source.own_keys())));
    let Some(source) = found else {
        let bound = "settings of gRPC, Envoy, resilience4j or Polly; say which by --from";
        return Err(ImportError::new("", "no key of a known product", bound));
    };
    let imported = match source {
        ImportSource::Grpc => grpc::import(&tree),
        ImportSource::Envoy => envoy::import(&tree),
        ImportSource::Resilience4j => resilience4j::import(&tree),
        ImportSource::Polly => polly::import(&tree),
    }?;
    if imported.policies.is_empty() {
        let bound = format!("a file with retry settings of {source}");
        return Err(ImportError::new("", "no retry settings found", bound));
    }
    Ok(imported)
}

/// Whether any key of the tree is one of these.
fn has(tree: &Value, keys: &[&str]) -> bool {
    match tree {
        Value::Object(map) => {
            map.iter().any(|(key, value)| keys.contains(&plain(key).as_str()) || has(value, keys))
        }
        Value::Array(list) => list.iter().any(|value| has(value, keys)),
        _ => false,
    }
}
