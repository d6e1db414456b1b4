//! `--policy FILE#NAME`: policies of the user's own.

use std::path::Path;

use stagger_core::Policy;

use super::source::read;
use crate::policy_file::policies;
use crate::refusal::Refusal;
use crate::spelling::nearest;
use crate::toml_file::Document;

/// The policies that the flags name: all of a file, or one of it.
///
/// # Errors
/// A file that cannot be read or is wrong, or a name that is not in it.
pub(super) fn all(asked: &[String]) -> Result<Vec<(String, Policy)>, Refusal> {
    let mut all = Vec::new();
    for asked in asked {
        all.extend(of(asked)?);
    }
    Ok(all)
}

fn of(asked: &str) -> Result<Vec<(String, Policy)>, Refusal> {
    let (file, name) = match asked.rsplit_once('#') {
        Some((file, name)) => (file, Some(name)),
        None => (asked, None),
    };
    let text = read(file)?;
    let read = Document::parse(&text).and_then(|document| policies(&document));
    let read = read.map_err(|flaw| Refusal::File(flaw.show(file, &text)))?;
    let stem =
        Path::new(file).file_stem().map_or_else(String::new, |stem| stem.display().to_string());
    if let Some(name) = name {
        return match read.iter().find(|(known, _)| known.as_deref().is_none_or(|it| it == name)) {
            Some((_, policy)) => Ok(vec![(name.to_owned(), *policy)]),
            None => Err(missing(file, name, read.iter().filter_map(|(known, _)| known.as_deref()))),
        };
    }
    Ok(read.into_iter().map(|(known, policy)| (known.unwrap_or(stem.clone()), policy)).collect())
}

fn missing<'n>(file: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> Refusal {
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
    };
    Refusal::bad_value(&format!("{file} has no [policy.{name}]: {hint}"))
}
