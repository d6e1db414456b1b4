//! The checks of each format: its files are imported, nothing is dropped, and an export is read as it was.

use serde::Serialize;
use serde_json::Value;
use stagger_core::Policy;
use stagger_import::{
    ImportSource, Imported, LeftOut, SettingsDocument, export, import, import_documents,
};

use super::{Fixture, fixtures};

/// The figures of one format.
#[derive(Clone, Debug, Serialize)]
pub struct FormatReport {
    /// The name of the format.
    pub format: &'static str,
    /// Its settings files.
    pub files: usize,
    /// Those that come to policies.
    pub imported: usize,
    /// Whether every setting that is understood is listed once it is misspelt.
    pub left_out_listed: bool,
    /// Whether an export is read as it was, apart from what it lists as lost; none for a format that is only read.
    pub round_trip: Option<bool>,
    /// The faults, one line each.
    #[serde(skip)]
    pub flaws: Vec<String>,
}

/// The least share of the files of a format that must be imported.
const LEAST: f64 = 0.95;

impl FormatReport {
    /// Whether the format keeps everything that it must.
    #[must_use]
    pub fn is_good(&self) -> bool {
        // OK because the number of settings files is small.
        #[expect(clippy::cast_precision_loss, reason = "a few files")]
        let share = self.imported as f64 / self.files.max(1) as f64;
        self.files > 0 && share >= LEAST && self.left_out_listed && self.round_trip != Some(false)
    }
}

/// The figures of every format.
///
/// # Panics
/// A folder of settings files that cannot be read.
#[must_use]
pub fn report() -> Vec<FormatReport> {
    let all = fixtures();
    let row = |format: ImportSource| {
        let own: Vec<&Fixture> = all.iter().filter(|fixture| fixture.format == format).collect();
        let written = ImportSource::exported().any(|known| known == format);
        let mut row = FormatReport {
            format: format.name(),
            files: own.len(),
            imported: 0,
            left_out_listed: true,
            round_trip: written.then_some(true),
            flaws: Vec::new(),
        };
        own.iter().for_each(|fixture| look_at(fixture, &mut row));
        row
    };
    ImportSource::all().map(row).collect()
}

fn look_at(fixture: &Fixture, row: &mut FormatReport) {
    let name = &fixture.name;
    let imported = match import(&fixture.text, None) {
        Ok(imported) if imported.sources.contains(&fixture.format) => imported,
        Ok(imported) => return row.flaws.push(format!("{name}: read as {:?}", imported.sources)),
        Err(error) => return row.flaws.push(format!("{name}: {error}")),
    };
    row.imported += 1;
    for path in unlisted(&fixture.text, &imported) {
        row.left_out_listed = false;
        row.flaws.push(format!("{name}: a misspelt {path} is dropped without a word"));
    }
    if row.round_trip.is_some()
        && let Err(why) = round_trip(&imported, fixture.format)
    {
        row.round_trip = Some(false);
        row.flaws.push(format!("{name}: {why}"));
    }
}

/// The settings that nothing tells of once they are misspelt.
#[must_use]
pub fn unlisted(text: &str, imported: &Imported) -> Vec<String> {
    let Ok(documents) = SettingsDocument::read(text) else { return Vec::new() };
    let mut dropped = Vec::new();
    for (number, path) in imported.settings_read() {
        let Some((tree, misspelt)) = misspelt(documents[number].tree(), path) else { continue };
        let mut changed = documents.clone();
        changed[number] = SettingsDocument::with_tree(tree);
        let key = misspelt.rsplit_once('.').map_or(misspelt.as_str(), |(_, key)| key);
        let told = import_documents(&changed, None).map_or(true, |again| {
            let new = |left: &LeftOut| !imported.left_out.iter().any(|it| it.path == left.path);
            again.left_out.iter().any(new)
                || again.unknown.iter().any(|unknown| unknown.document == number)
                || again.policies.iter().any(|policy| policy.name == key)
        });
        if !told {
            dropped.push(path.to_owned());
        }
    }
    dropped
}

/// The tree with the last key of a path misspelt, and its new path. Keys may have dots.
fn misspelt(tree: &Value, path: &str) -> Option<(Value, String)> {
    let mut tree = tree.clone();
    let renamed = rename(&mut tree, path)?;
    Some((tree, renamed))
}

fn rename(tree: &mut Value, path: &str) -> Option<String> {
    match tree {
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            if let Some(value) = map.remove(path) {
                let key = format!("{path}zz");
                map.insert(key.clone(), value);
                return Some(key);
            }
            keys.iter().find_map(|key| {
                let rest = path.strip_prefix(key.as_str())?.strip_prefix('.')?;
                Some(format!("{key}.{}", rename(map.get_mut(key)?, rest)?))
            })
        }
        Value::Array(list) => {
            let (index, rest) = path.split_once('.')?;
            let inner = list.get_mut(index.parse::<usize>().ok()?)?;
            Some(format!("{index}.{}", rename(inner, rest)?))
        }
        _ => None,
    }
}

/// Whether an export of the policies is read as it was written, apart from what it lists as lost.
///
/// # Errors
/// The first difference.
pub fn round_trip(imported: &Imported, to: ImportSource) -> Result<(), String> {
    let policies: Vec<(&str, &Policy)> =
        imported.policies.iter().map(|it| (it.name.as_str(), &it.policy)).collect();
    let first = export(&policies, to).map_err(|error| error.to_string())?;
    let again = import(&first.text, Some(to)).map_err(|error| error.to_string())?;
    for (name, policy) in &policies {
        let found = again.policies.iter().find(|it| it.name == *name);
        let found = found.ok_or_else(|| format!("{name} is not in the export"))?;
        let lost = first.lost.iter().any(|lost| lost.policy == *name);
        if !lost && found.policy != **policy {
            return Err(format!("{name} differs, and nothing is listed as lost"));
        }
    }
    let policies: Vec<(&str, &Policy)> =
        again.policies.iter().map(|it| (it.name.as_str(), &it.policy)).collect();
    let second = export(&policies, to).map_err(|error| error.to_string())?;
    match second.lost.first() {
        None => Ok(()),
        Some(lost) => Err(format!("a second export loses {} of {}", lost.key, lost.policy)),
    }
}
