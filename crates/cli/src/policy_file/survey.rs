//! All policies of a file, and all that is wrong with it: one that is refused hides no other.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use stagger_core::Policy;
use stagger_explain::{PolicyFinding, Setting};
use stagger_proxy::config::read_policy;
use stagger_text::nearest;
use stagger_text::settings::{Document, Flaw, Reader, Value, engine, holds, last_before, place};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::calls::{self, CallFacts};
use super::routes::{self, SurveyedRoute};

/// The tables of a file of named policies.
const TABLES: [&str; 2] = ["policy", "calls"];
/// The tables that every scenario and every file of a proxy's routes has: what else stands beside them is theirs.
const SCENARIO: &str = "arrivals";
const ROUTES: &str = "route";
/// The settings of a route of which each has one.
const TARGETS: [&str; 2] = ["upstream", "connect"];

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Survey<'t> {
    /// The policies that can be built.
    pub(crate) policies: Vec<Surveyed<'t>>,
    /// Everything else, in the order of the file.
    pub(crate) flaws: Vec<Flaw>,
    /// Whether the policies are those of a proxy, which shares hints by destination.
    of_proxy: bool,
}

/// A policy, and what is known of its calls.
#[derive(Debug)]
pub(crate) struct Surveyed<'t> {
    /// None for a file that is one whole policy.
    pub(crate) name: Option<String>,
    /// The dotted key of its table; empty for a file that is one whole policy.
    pub(crate) path: String,
    pub(crate) policy: Policy,
    pub(crate) calls: CallFacts,
    /// The route whose policy it is.
    pub(crate) route: Option<SurveyedRoute<'t>>,
    table: Value<'t>,
}

impl Surveyed<'_> {
    /// The place of a key, or of the innermost table on the way, or the header of the policy.
    pub(crate) fn place(&self, key: &str) -> Range<usize> {
        place(key, &self.table).unwrap_or_else(|| match self.name {
            Some(_) => self.table.span(),
            None => 0..0,
        })
    }

    /// The place of a key of its route, or of the policy where the key is one of the policy.
    fn route_place(&self, key: &str) -> Range<usize> {
        let of_policy = key.starts_with("limits.");
        match &self.route {
            Some(route) if of_policy && route.names_policy => {
                place("policy", &route.table).unwrap_or_else(|| route.table.span())
            }
            Some(route) if !of_policy => {
                place(key, &route.table).unwrap_or_else(|| route.table.span())
            }
            _ => self.place(key),
        }
    }

    /// Whether the file sets this top-level key of the policy, rather than leaving its default. The policy of a
    /// route that is no table of its own has all keys from elsewhere.
    pub(crate) fn sets(&self, key: &str) -> bool {
        match self.table.get_ref() {
            DeValue::Table(table) => table.contains_key(key),
            _ => true,
        }
    }

    /// Whether it is looked at under this name, and not under that of a `[policy.NAME]`.
    pub(crate) fn is_own(&self) -> bool {
        !self.route.as_ref().is_some_and(|route| route.names_policy)
    }

    /// The findings of the policy and of its route, each with its place.
    pub(crate) fn findings(&self, setting: &Setting) -> Vec<(Range<usize>, PolicyFinding)> {
        let own =
            if self.is_own() { stagger_explain::lint(&self.policy, setting) } else { Vec::new() };
        let own = own.into_iter().filter(|finding| !self.is_tunnel() || of_breaker(finding));
        let facts = self.route.as_ref().map(|route| &route.facts);
        let of_route = facts.map(|facts| stagger_explain::lint_route(&self.policy, facts));
        let of_route = of_route.into_iter().flatten();
        own.map(|finding| (self.place(finding.key), finding))
            .chain(of_route.map(|finding| (self.route_place(finding.key), finding)))
            .collect()
    }

    fn is_tunnel(&self) -> bool {
        self.route.as_ref().is_some_and(|route| route.facts.tunnel)
    }
}

/// Whether a finding is one of the breaker, all that a tunnel uses of its policy.
pub(crate) fn of_breaker(finding: &PolicyFinding) -> bool {
    finding.key.starts_with("breaker")
}

/// Reads everything that can be read of a text. A file of a proxy's routes is read as the proxy reads it, with the
/// files that it names.
pub(crate) fn survey<'t>(file: &Path, text: &'t str) -> Survey<'t> {
    let (document, broken) = Document::recovered(text);
    let document = policies_of(document);
    let reader = document.reader();
    let mut survey = Survey { of_proxy: has_routes(&reader), ..Survey::default() };
    if is_named(&reader) {
        survey.named(&reader, &broken);
        if survey.of_proxy && broken.is_empty() {
            survey.routes(&reader, file, text);
        }
    } else if broken.is_empty() {
        survey.add(None, &reader.whole(), String::new(), CallFacts::default());
    }
    survey.flaws.extend(broken);
    survey.flaws.sort_by_key(|flaw| (flaw.at().start, flaw.at().end));
    survey
}

/// Returns the policies in a JSON page of `choose` or `import` as a file of policies has them, and every
/// other document as it is.
fn policies_of(document: Document<'_>) -> Document<'_> {
    let has = |name| document.reader().names().any(|(known, _)| known == name);
    if has("policy") && has("answers") {
        return document.inner("policy");
    }
    if has("policies") && has("left_out") {
        return document.only("policies", "policy");
    }
    document
}

/// Whether a file is one of named policies, also when a slip of the finger says otherwise.
fn is_named(reader: &Reader<'_, '_>) -> bool {
    let named = |name| nearest(name, TABLES.into_iter()).is_some();
    reader.names().any(|(name, _)| named(name)) || has_routes(reader)
}

/// Whether a document has the routes of a proxy.
pub(super) fn has_routes(reader: &Reader<'_, '_>) -> bool {
    inner_tables(reader, ROUTES)
        .any(|(_, route)| route.iter().any(|(key, _)| TARGETS.contains(&key.get_ref().as_ref())))
}

/// The tables in a table of the document.
fn inner_tables<'r, 't>(
    reader: &'r Reader<'r, 't>,
    of: &'static str,
) -> impl Iterator<Item = (&'r str, &'r DeTable<'t>)> {
    let outer = reader.names().filter(move |(name, _)| *name == of);
    let inner = outer.filter_map(|(_, value)| value.get_ref().as_table());
    inner
        .flat_map(|table| table.iter())
        .filter_map(|(name, value)| Some((name.get_ref().as_ref(), value.get_ref().as_table()?)))
}

impl<'t> Survey<'t> {
    fn named(&mut self, reader: &Reader<'_, 't>, broken: &[Flaw]) {
        let damaged = damaged(reader, broken);
        let mut calls = self.calls(reader, &damaged);
        match reader.table("policy") {
            Err(flaw) => self.flaws.push(flaw),
            Ok(tables) => {
                let names: Vec<&str> =
                    tables.iter().flat_map(Reader::names).map(|it| it.0).collect();
                for (name, value) in tables.iter().flat_map(Reader::names) {
                    let (_, calls) = calls.remove(name).unwrap_or_default();
                    if !damaged.contains(name) {
                        self.add(Some(name.to_owned()), value, format!("policy.{name}"), calls);
                    }
                }
                if broken.is_empty() {
                    let of_none =
                        calls.into_iter().map(|(name, (at, _))| strange(name, at, &names));
                    self.flaws.extend(of_none);
                }
            }
        }
        let routes = self.of_proxy;
        if routes {
            self.inside_routes(reader);
        }
        // What a scenario or a proxy has beside its policies is its own; what follows a mistake may be no
        // key at all.
        if broken.is_empty() && !routes && !reader.names().any(|(name, _)| name == SCENARIO) {
            self.flaws.extend(reader.unknown());
        }
        if !routes && self.policies.is_empty() && self.flaws.is_empty() && broken.is_empty() {
            self.flaws.push(Flaw::new(first(reader), "there is no [policy.NAME] in it"));
        }
    }

    /// The policies that stand in the routes of a proxy.
    fn inside_routes(&mut self, reader: &Reader<'_, 't>) {
        for (name, route) in inner_tables(reader, ROUTES) {
            if let Some(policy) = route.get("policy").filter(|policy| policy.get_ref().is_table()) {
                let path = format!("{ROUTES}.{name}.policy");
                self.add(Some(routes::name_of(name)), policy, path, CallFacts::default());
            }
        }
    }

    /// All routes as the proxy reads them: the facts of each, and its policy from wherever it comes.
    fn routes(&mut self, reader: &Reader<'_, 't>, file: &Path, text: &str) {
        let settings = match routes::settings(file, text) {
            Ok(settings) => settings,
            Err(fault) if self.flaws.is_empty() => {
                let flaw = fault.flaw().cloned();
                return self
                    .flaws
                    .push(flaw.unwrap_or_else(|| Flaw::new(first(reader), fault.to_string())));
            }
            // The flaws that are known may be the same.
            Err(_) => return,
        };
        let tables = reader.names().filter(|(name, _)| *name == ROUTES);
        let tables: Vec<_> = tables.filter_map(|(_, value)| value.get_ref().as_table()).collect();
        for route in &settings.routes {
            let named = tables.iter().find_map(|table| table.get(route.name.as_str()));
            let Some((value, table)) = named.and_then(|it| Some((it, it.get_ref().as_table()?)))
            else {
                continue;
            };
            let written = table.get("policy");
            let text = written.and_then(|policy| policy.get_ref().as_str());
            let read = SurveyedRoute {
                facts: routes::facts(&settings, route, |key| table.contains_key(key)),
                names_policy: text.is_some_and(|text| has_policy(reader, text)),
                table: value.clone(),
            };
            let name = routes::name_of(&route.name);
            let inside = self.policies.iter_mut().find(|it| it.name.as_deref() == Some(&*name));
            if let Some(inside) = inside.filter(|it| it.path.ends_with(".policy")) {
                (inside.policy, inside.route) = (route.policy, Some(read));
                continue;
            }
            let at = written.map_or_else(|| value.span(), Spanned::span);
            self.policies.push(Surveyed {
                name: Some(name),
                path: format!("{ROUTES}.{}", route.name),
                policy: route.policy,
                calls: CallFacts::default(),
                route: Some(read),
                table: Spanned::new(at, DeValue::String("".into())),
            });
        }
    }

    /// The tables `[calls.NAME]` by their names.
    fn calls<'r>(
        &mut self,
        reader: &Reader<'r, 't>,
        damaged: &BTreeSet<String>,
    ) -> BTreeMap<&'r str, (Range<usize>, CallFacts)> {
        let tables = match reader.table("calls") {
            Ok(None) => return BTreeMap::new(),
            Ok(Some(tables)) => tables,
            Err(flaw) => {
                self.flaws.push(flaw);
                return BTreeMap::new();
            }
        };
        let mut read = BTreeMap::new();
        for (name, value) in tables.names().filter(|(name, _)| !damaged.contains(*name)) {
            match value.get_ref() {
                DeValue::Table(table) => {
                    let reader = Reader::new(tables.name(name), value.span(), table);
                    let calls = calls::read(&reader, &mut self.flaws);
                    read.insert(name, (value.span(), calls));
                }
                _ => self.flaws.push(Flaw::new(
                    value.span(),
                    format!("{}: must be a table", tables.name(name)),
                )),
            }
        }
        read
    }

    /// Builds a policy; when a part of it is refused, the other parts are still looked at.
    fn add(&mut self, name: Option<String>, table: &Value<'t>, path: String, calls: CallFacts) {
        let mut rest = table.clone();
        let mut refused = false;
        loop {
            let built = if self.of_proxy {
                read_policy(&path, &rest)
            } else {
                engine::<Policy>(&path, &rest)
            };
            match built {
                Ok(policy) if !refused => {
                    let (table, route) = (table.clone(), None);
                    return self.policies.push(Surveyed {
                        name,
                        path,
                        policy,
                        calls,
                        route,
                        table,
                    });
                }
                Ok(_) => return,
                Err(flaw) => {
                    refused = true;
                    let DeValue::Table(parts) = rest.get_mut() else {
                        return self.flaws.push(flaw);
                    };
                    let wrong = parts.iter().find(|(key, value)| {
                        key.span().contains(&flaw.at().start) || holds(value, flaw.at().start)
                    });
                    let wrong = wrong.map(|(key, _)| key.get_ref().to_string());
                    self.flaws.push(flaw);
                    match wrong {
                        Some(key) => parts.remove(key.as_str()),
                        None => return,
                    };
                }
            }
        }
    }
}

/// Whether a document has a `[policy.NAME]` of this name.
fn has_policy(reader: &Reader<'_, '_>, name: &str) -> bool {
    inner_tables(reader, "policy").any(|(known, _)| known == name)
}

/// The policies in which something is no TOML: what is left of them is not what was meant.
fn damaged(reader: &Reader<'_, '_>, broken: &[Flaw]) -> BTreeSet<String> {
    let owner = |flaw: &Flaw| {
        let tables = reader.names().filter(|(table, _)| TABLES.contains(table));
        let named = tables.filter_map(|(_, value)| match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        });
        let last = named.flat_map(|table| table.iter()).filter_map(|(name, value)| {
            let header = Some(name.span().start).filter(|start| *start <= flaw.at().start);
            Some((header.max(last_before(value, flaw.at().start))?, name.get_ref().to_string()))
        });
        last.max().map(|(_, name)| name)
    };
    broken.iter().filter_map(owner).collect()
}

/// Calls of a policy that there is not.
fn strange(name: &str, at: Range<usize>, names: &[&str]) -> Flaw {
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None if names.is_empty() => "there is no policy with a name".to_owned(),
        None => format!("there are {}", names.join(", ")),
    };
    Flaw::new(at, format!("[calls.{name}] is of no [policy.{name}]: {hint}"))
}

fn first(reader: &Reader<'_, '_>) -> Range<usize> {
    reader.names().map(|(_, value)| value.span()).min_by_key(|at| at.start).unwrap_or(0..0)
}
