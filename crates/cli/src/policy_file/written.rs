//! Pages of `choose` and `import` in JSON, which hold more than the policies.

use crate::toml_file::Document;

/// The policies of such a document, as a file of policies has them; every other document as it is.
pub(super) fn policies(document: Document<'_>) -> Document<'_> {
    let has = |name| document.reader().names().any(|(known, _)| known == name);
    if has("policy") && has("answers") {
        return document.inner("policy");
    }
    if has("policies") && has("left_out") {
        return document.only("policies", "policy");
    }
    document
}
