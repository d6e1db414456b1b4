//! `[[row]]`: rows of the table that have settings of their own, such as a server with a shorter queue.

use stagger_core::{Policy, Span};
use stagger_sim::{CallerLayer, Law, Schedule};
use stagger_text::settings::{Document, Flaw, Reader, Value};

use super::laws;

/// Rows beyond this are more than a page can show.
const MAX_ROWS: usize = 50;

/// One row: a caller, and the settings of the file that are different for it.
pub(super) struct OwnRow<'r, 't> {
    pub(super) name: &'r str,
    table: Reader<'r, 't>,
    changes: Vec<(&'r str, &'r Value<'t>)>,
}

/// Reads the rows of a file, in their order.
///
/// # Errors
/// A row without a name, or with one that another row has; more rows than a page shows.
pub(super) fn read<'r, 't>(reader: &Reader<'r, 't>) -> Result<Vec<OwnRow<'r, 't>>, Flaw> {
    let tables = reader.tables("row")?;
    if tables.len() > MAX_ROWS {
        return Err(reader.wrong("row", &format!("a list of at most {MAX_ROWS} tables")));
    }
    let mut rows: Vec<OwnRow<'r, 't>> = Vec::new();
    for table in tables {
        let name = table.need("name", table.text("name")?)?;
        if name == Law::NoRetry.name() || rows.iter().any(|row| row.name == name) {
            return Err(table.wrong("name", "a name that no other row has"));
        }
        let changes = table.table("with")?;
        let changes = changes.iter().flat_map(Reader::names).collect();
        rows.push(OwnRow { name, table, changes });
    }
    Ok(rows)
}

impl<'r, 't> OwnRow<'r, 't> {
    /// The file with the settings of this row.
    ///
    /// # Errors
    /// A key that leads nowhere.
    pub(super) fn changed(&self, document: &Document<'t>) -> Result<Document<'t>, Flaw> {
        let mut changed = document.clone().without("row");
        for (key, value) in &self.changes {
            let with = changed.with(key, (*value).clone());
            changed = with.map_err(|why| {
                Flaw::new(value.span(), format!("{}.{why}", self.table.name("with")))
            })?;
        }
        Ok(changed)
    }

    /// The caller of this row. The names of policies that it uses go to `used`.
    ///
    /// # Errors
    /// A row without law, policy or preset, or with more than one of them; an unknown key.
    pub(super) fn caller(
        &self,
        policies: &[(String, Policy)],
        defaults: (Schedule, Option<Span>),
        used: &mut Vec<String>,
    ) -> Result<CallerLayer, Flaw> {
        let caller = laws::settled(&self.table, policies, defaults, used)?;
        self.table.done()?;
        caller.ok_or_else(|| self.table.flaw("must have one of law, policy and preset"))
    }
}
