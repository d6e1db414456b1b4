//! The export of policies: a text for another product, and everything that it cannot say.

use std::fmt::Write;

use serde_json::Value;
use stagger_core::Policy;

use crate::formats::FORMATS;
use crate::{ImportError, ImportSource, import};

/// A text for another product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The settings. What is lost stands above them as comments, where the notation has any.
    pub text: String,
    /// Keys of the policies that the product cannot say as they are.
    pub lost: Vec<LostKey>,
}

/// A key that is not the same after an export and an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostKey {
    /// The name of the policy.
    pub policy: String,
    /// The dotted key, as in `budget.window.ratio`.
    pub key: String,
    /// Its value as JSON; `none` where the policy does not have it.
    pub value: String,
    /// The value that the exported settings mean, or `none`.
    pub instead: String,
}

/// Writes named policies as settings of a product.
///
/// The text is read again: each key that differs is listed as lost.
///
/// # Errors
/// A format that is only read, and names that the format cannot say.
///
/// ```
/// use stagger_core::Policy;
/// use stagger_import::export;
/// let exported = export(&[("orders", &Policy::aws_standard_2_1())], "aws".parse()?)?;
/// assert!(exported.text.ends_with("[profile orders]\nretry_mode = standard\nmax_attempts = 3\n"));
/// assert!(exported.lost.is_empty());
/// let exported = export(&[("orders", &Policy::interactive())], "aws".parse()?)?;
/// assert!(exported.lost.iter().any(|lost| lost.key == "limits.deadline" && lost.instead == "none"));
/// # Ok::<(), stagger_import::ImportError>(())
/// ```
pub fn export(policies: &[(&str, &Policy)], to: ImportSource) -> Result<Exported, ImportError> {
    let format = FORMATS.iter().find(|format| format.source == to);
    let Some(export) = format.and_then(|format| format.export.as_ref()) else {
        let known: Vec<&str> = ImportSource::exported().map(ImportSource::name).collect();
        return Err(ImportError::new("to", to, format!("one of {}", known.join(", "))));
    };
    let settings = (export.write)(policies);
    let read = import(&settings, Some(to))?;
    let mut lost = Vec::new();
    for (name, policy) in policies {
        let again = read.policies.iter().find(|other| other.name == *name);
        let Some(again) = again else {
            let bound = format!("a name that settings of {} can have", to.product());
            return Err(ImportError::new("policy", name, bound));
        };
        let [ours, theirs] =
            [*policy, &again.policy].map(|policy| serde_json::to_value(policy).unwrap_or_default());
        differences(name, "", Some(&ours), Some(&theirs), &mut lost);
    }
    let head = export.comment.map_or_else(String::new, |comment| comments(comment, to, &lost));
    Ok(Exported { text: head + &settings, lost })
}

/// The head of a text, with everything that is lost.
fn comments(comment: &str, to: ImportSource, lost: &[LostKey]) -> String {
    let mut head = format!("{comment} Written for {} by `stagger export`.\n", to.product());
    for LostKey { policy, key, value, instead } in lost {
        let _ = writeln!(head, "{comment} lost: {policy}: {key} = {value}; it is {instead} here");
    }
    let _ = writeln!(
        head,
        "{comment} Which failures are retried is no part of a policy: check it below."
    );
    head
}

/// Every key below that is not the same on both sides.
fn differences(
    policy: &str,
    key: &str,
    ours: Option<&Value>,
    theirs: Option<&Value>,
    lost: &mut Vec<LostKey>,
) {
    if ours == theirs {
        return;
    }
    let at = |inner: &str| if key.is_empty() { inner.to_owned() } else { format!("{key}.{inner}") };
    if let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours, theirs) {
        let more = theirs.keys().filter(|inner| !ours.contains_key(*inner));
        for inner in ours.keys().chain(more) {
            differences(policy, &at(inner), ours.get(inner), theirs.get(inner), lost);
        }
        return;
    }
    let shown = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), Value::to_string);
    let (value, instead) = (shown(ours), shown(theirs));
    lost.push(LostKey { policy: policy.to_owned(), key: key.to_owned(), value, instead });
}
