//! The policies of foreign settings, and everything that they do not say.

use stagger_core::{HintRule, LongHint, Policy, Span};

use crate::key::plain;
use crate::{ImportError, ImportSource};

/// The policies of some documents, and what of these the policies do not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The formats that were found, in the order of the list of formats.
    pub sources: Vec<ImportSource>,
    /// Policies in the order of the documents.
    pub policies: Vec<ImportedPolicy>,
    /// Settings that have no counterpart, or none that is exactly the same, and entries that were refused.
    pub left_out: Vec<LeftOut>,
    /// Differences in behaviour without a setting of their own.
    pub notes: Vec<String>,
    /// Documents of no known format.
    pub unknown: Vec<UnknownDocument>,
    /// Every setting that was understood: the number of its document, and its path.
    read: Vec<(usize, String)>,
    /// The settings of the policy that is being read start here in `read`.
    fresh: usize,
    refused: Option<ImportError>,
    document: usize,
}

/// A policy, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedPolicy {
    /// The name, unlike that of any other policy of the import.
    pub name: String,
    /// The name that its settings have, which another policy may have too.
    pub own_name: String,
    /// The policy.
    pub policy: Policy,
    /// The format of its settings.
    pub source: ImportSource,
    /// The number of its document, from 0.
    pub document: usize,
    /// The dotted path of the table that it was read from.
    pub path: String,
    /// Keys of the policy, each with the path of the setting that says it.
    settings: Vec<(&'static str, String)>,
}

impl ImportedPolicy {
    /// The path of the setting that says a key such as `backoff.base`, or of the policy's own table.
    #[must_use]
    pub fn place(&self, key: &str) -> &str {
        let mut key = key;
        loop {
            if let Some((_, path)) = self.settings.iter().find(|(known, _)| *known == key) {
                return path;
            }
            match key.rsplit_once('.') {
                Some((part, _)) => key = part,
                None => return &self.path,
            }
        }
    }
}

/// A setting that could not be mapped exactly, or an entry that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of its document, from 0.
    pub document: usize,
    /// Its dotted path in the document.
    pub path: String,
    /// Its value, as JSON.
    pub value: String,
    /// The reason, and what the policy has instead.
    pub why: String,
    /// Whether it is an entry that was refused, so that its calls have no policy here.
    pub refused: bool,
}

/// A document of no known format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDocument {
    /// Its number, from 0.
    pub document: usize,
    /// Its kind or its first keys.
    pub found: String,
}

impl Imported {
    /// Equal policies together, in the order of the first of each group.
    ///
    /// ```
    /// use stagger_import::import;
    /// let text = "max_attempts = 2\n[profile a]\nmax_attempts = 4\n[profile b]\nmax_attempts = 4\n";
    /// let text = format!("[default]\n{text}");
    /// let imported = import(&text, Some("aws".parse()?))?;
    /// let sizes: Vec<_> = imported.groups().iter().map(Vec::len).collect();
    /// assert_eq!(sizes, [1, 2]);
    /// # Ok::<(), stagger_import::ImportError>(())
    /// ```
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<&ImportedPolicy>> {
        let mut groups: Vec<Vec<&ImportedPolicy>> = Vec::new();
        for policy in &self.policies {
            match groups.iter_mut().find(|group| group[0].policy == policy.policy) {
                Some(group) => group.push(policy),
                None => groups.push(vec![policy]),
            }
        }
        groups
    }

    /// Every setting that was understood: the number of its document, and its dotted path.
    pub fn settings_read(&self) -> impl Iterator<Item = (usize, &str)> {
        self.read.iter().map(|(document, path)| (*document, path.as_str()))
    }

    /// Begins the settings of a document.
    pub(crate) const fn begin(&mut self, document: usize) {
        self.document = document;
        self.fresh = self.read.len();
    }

    /// The number of settings read before those of the next policy.
    pub(crate) const fn mark(&self) -> usize {
        self.fresh
    }

    /// Makes the settings since a mark those of the next policy, too.
    pub(crate) const fn again(&mut self, mark: usize) {
        self.fresh = mark;
    }

    /// Notes that a setting was understood.
    pub(crate) fn has_read(&mut self, path: String) {
        self.read.push((self.document, path));
    }

    /// Adds a policy of a table; a name that is taken gets a number. Hints are obeyed for at least as long as
    /// its own delays, whatever its product does with longer ones: it would wait that long anyway.
    pub(crate) fn add(&mut self, source: ImportSource, name: &str, path: &str, policy: Policy) {
        let taken = |name: &str| self.policies.iter().any(|known| known.name == name);
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let unique = names.find(|name| !taken(name)).unwrap_or_else(|| name.to_owned());
        self.policies.push(ImportedPolicy {
            name: unique,
            own_name: name.to_owned(),
            policy: obeying_hints(&policy),
            source,
            document: self.document,
            path: path.to_owned(),
            settings: self.settings(source),
        });
        self.fresh = self.read.len();
    }

    /// The keys of a policy that the settings read last say.
    fn settings(&self, source: ImportSource) -> Vec<(&'static str, String)> {
        let own = &self.read[self.fresh.min(self.read.len())..];
        let last = |path: &str| plain(path.rsplit_once('.').map_or(path, |(_, last)| last));
        let place = |(key, setting): &(&'static str, &'static str)| {
            let found = own.iter().rev().find(|(_, path)| last(path) == last(setting));
            found.map(|(_, path)| (*key, path.clone()))
        };
        source.words().iter().filter_map(place).collect()
    }

    /// Keeps the refusal of one entry: the others are still read.
    pub(crate) fn entry(&mut self, read: Result<(), ImportError>) {
        let Err(error) = read else { return };
        let why = format!("not imported: must be {}", error.bound());
        let (path, value) = (error.field().to_owned(), error.value().to_owned());
        let left = LeftOut { document: self.document, path, value, why, refused: true };
        if !self.left_out.contains(&left) {
            self.left_out.push(left);
        }
        self.refused.get_or_insert(error);
        self.fresh = self.read.len();
    }

    /// The first entry that was refused.
    pub(crate) const fn refused(&self) -> Option<&ImportError> {
        self.refused.as_ref()
    }

    pub(crate) fn leave_out(
        &mut self,
        path: impl Into<String>,
        value: impl ToString,
        why: impl Into<String>,
    ) {
        let (path, value, why) = (path.into(), value.to_string(), why.into());
        let left = LeftOut { document: self.document, path, value, why, refused: false };
        if !self.left_out.contains(&left) {
            self.left_out.push(left);
        }
    }

    /// Says something once, however many policies it holds for.
    pub(crate) fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}

fn obeying_hints(policy: &Policy) -> Policy {
    let (rule, longest) = (policy.hints(), longest_delay(policy));
    if rule.long() != LongHint::Stop || rule.max() >= longest {
        return *policy;
    }
    let wider = HintRule::new(longest, rule.spread(), rule.long()).ok();
    let built = wider.and_then(|rule| policy.to_builder().hints(rule).build().ok());
    built.unwrap_or(*policy)
}

/// The longest delay before the last retry.
fn longest_delay(policy: &Policy) -> Span {
    let retries = policy.limits().max_attempts().map_or(u32::MAX, |attempts| attempts - 1);
    if retries == 0 { Span::ZERO } else { policy.backoff().range(retries).1 }
}
