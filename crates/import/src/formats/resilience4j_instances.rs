//! The instances of resilience4j in a Spring configuration: profiles, dotted keys, base configurations, placeholders.
//!
//! Sources: <https://resilience4j.readme.io/docs/getting-started-3#configuration> (`baseConfig`, `configs.default`) and
//! <https://docs.spring.io/spring-boot/reference/features/external-config.html> (profiles, placeholders with defaults).

use serde_json::{Map, Value};

use super::format::Page;
use crate::key::plain;
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// The most configurations that build on each other: a circle ends here.
const MOST_BASES: usize = 16;

/// The settings of one profile, with those of the document without a profile below them.
pub(super) struct Profile {
    pub(super) document: usize,
    name: Option<String>,
    path: String,
    map: Map<String, Value>,
}

impl Profile {
    /// The table `resilience4j`.
    pub(super) fn table(&self) -> SettingsTable<'_> {
        SettingsTable::new(self.path.clone(), &self.map)
    }

    /// The name of an instance, with the profile behind it.
    pub(super) fn name_of(&self, instance: &str) -> String {
        self.name
            .as_ref()
            .map_or_else(|| instance.to_owned(), |profile| format!("{instance}-{profile}"))
    }
}

/// The profiles of all pages. Pages of one text without a profile are the base of those that have one.
pub(super) fn profiles(pages: &[Page<'_>]) -> Vec<Profile> {
    let mut all: Vec<Profile> = Vec::new();
    let mut base = Value::Object(Map::new());
    for page in pages {
        let whole = expanded(page.tree);
        let name = whole
            .pointer("/spring/config/activate/on-profile")
            .or_else(|| whole.pointer("/spring/profiles"));
        let name = name.and_then(Value::as_str).map(str::to_owned);
        let Some((key, own)) = whole
            .as_object()
            .and_then(|map| map.iter().find(|(key, _)| plain(key) == "resilience4j"))
        else {
            continue;
        };
        let mut merged = if name.is_some() { base.clone() } else { Value::Object(Map::new()) };
        merge(&mut merged, own);
        if name.is_none() {
            merge(&mut base, own);
        }
        if let Value::Object(map) = merged {
            all.push(Profile { document: page.document, name, path: page.at(key), map });
        }
    }
    all
}

/// The tree with keys such as `resilience4j.retry` as tables of tables. Names of instances keep their dots.
fn expanded(tree: &Value) -> Value {
    let mut root = Map::new();
    for (key, value) in tree.as_object().into_iter().flatten() {
        let mut value = value.clone();
        let (first, rest) = key.split_once('.').unwrap_or((key, ""));
        for part in rest.rsplit('.').filter(|part| !part.is_empty()) {
            value = Value::Object(Map::from_iter([(part.to_owned(), value)]));
        }
        if plain(first) == "resilience4j" {
            value = kinds(value);
        }
        let known = root.entry(first.to_owned()).or_insert_with(|| Value::Object(Map::new()));
        merge(known, &value);
    }
    Value::Object(root)
}

/// `retry.instances` below `resilience4j` as tables of tables.
fn kinds(value: Value) -> Value {
    let Value::Object(map) = value else { return value };
    let mut all = Value::Object(Map::new());
    for (key, value) in map {
        let (kind, rest) = key.split_once('.').unwrap_or((&key, ""));
        let value = match rest.split_once('.') {
            _ if rest.is_empty() => value,
            None => Value::Object(Map::from_iter([(rest.to_owned(), value)])),
            Some((group, name)) => {
                let named = Value::Object(Map::from_iter([(name.to_owned(), value)]));
                Value::Object(Map::from_iter([(group.to_owned(), named)]))
            }
        };
        merge(&mut all, &Value::Object(Map::from_iter([(kind.to_owned(), value)])));
    }
    all
}

/// Puts one tree over another.
fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                let spelled = under.keys().find(|known| plain(known) == plain(key)).cloned();
                match under.get_mut(spelled.as_ref().unwrap_or(key)) {
                    Some(known) => merge(known, value),
                    None => {
                        under.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// The instances of one kind, by their names.
pub(super) struct Instances(Vec<Instance>);

struct Instance {
    name: String,
    path: String,
    map: Map<String, Value>,
}

impl Instances {
    /// The instances of a kind; its default configuration as the only one when there is nothing else.
    pub(super) fn read(
        root: &SettingsTable<'_>,
        kind: &str,
        imported: &mut Imported,
    ) -> Result<Self, ImportError> {
        let Some(table) = root.table(kind)? else { return Ok(Self(Vec::new())) };
        table.ignore(&["aspect-order", "metrics"]);
        for order in
            ["retryAspectOrder", "circuitBreakerAspectOrder", "timeLimiterAspectOrder", "tags"]
        {
            table.ignore(&[order]);
        }
        let configs = table.table("configs")?;
        // `backends` is the older name.
        let older = table.table("backends")?;
        let all = table.table("instances")?.or(older);
        table.leave_rest(imported, |_| "neither instances nor configs");
        let mut instances = Vec::new();
        for (name, own) in all.iter().flat_map(SettingsTable::named) {
            instances.push(Instance::read(name, &own, configs.as_ref())?);
        }
        if instances.is_empty()
            && let Some(base) = configs.as_ref().and_then(|configs| {
                configs.named().into_iter().find(|(name, _)| *name == "default")
            })
        {
            instances.push(Instance::read("default", &base.1, configs.as_ref())?);
            imported.note("There are no instances of a kind, so its configs.default is a policy.");
        }
        Ok(Self(instances))
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|one| one.name.as_str()).collect()
    }

    pub(super) fn get(&self, name: &str) -> Option<SettingsTable<'_>> {
        let one = self.0.iter().find(|one| one.name == name)?;
        Some(SettingsTable::new(one.path.clone(), &one.map))
    }
}

impl Instance {
    fn read(
        name: &str,
        own: &SettingsTable<'_>,
        configs: Option<&SettingsTable<'_>>,
    ) -> Result<Self, ImportError> {
        let mut map = Map::new();
        over(&mut map, own)?;
        let mut base = own.text("baseConfig").map(|base| (own.at("baseConfig"), base.to_owned()));
        let named = base.is_some();
        for _ in 0..MOST_BASES {
            let asked = base.as_ref().map_or("default", |(_, base)| base.as_str());
            let found = configs.into_iter().flat_map(SettingsTable::named);
            let found =
                found.into_iter().find(|(known, _)| *known == asked).map(|(_, table)| table);
            let Some(table) = found else {
                return match base {
                    Some((path, base)) => {
                        Err(ImportError::new(path, base, "the name of a table in configs"))
                    }
                    None => Ok(Self { name: name.to_owned(), path: own.path.clone(), map }),
                };
            };
            under(&mut map, &table)?;
            match table.text("baseConfig") {
                Some(next) if named => base = Some((table.at("baseConfig"), next.to_owned())),
                _ => break,
            }
        }
        Ok(Self { name: name.to_owned(), path: own.path.clone(), map })
    }
}

fn over(map: &mut Map<String, Value>, table: &SettingsTable<'_>) -> Result<(), ImportError> {
    for (key, value) in table.entries().filter(|(key, _)| plain(key) != "baseconfig") {
        map.insert(key.to_owned(), resolved(&table.at(key), value)?);
    }
    Ok(())
}

/// Adds what is not there yet.
fn under(map: &mut Map<String, Value>, table: &SettingsTable<'_>) -> Result<(), ImportError> {
    for (key, value) in table.entries().filter(|(key, _)| plain(key) != "baseconfig") {
        if !map.keys().any(|known| plain(known) == plain(key)) {
            map.insert(key.to_owned(), resolved(&table.at(key), value)?);
        }
    }
    Ok(())
}

/// A value with `${NAME:default}` as the default.
fn resolved(path: &str, value: &Value) -> Result<Value, ImportError> {
    let Some(inner) = value.as_str().and_then(|text| text.trim().strip_prefix("${")) else {
        return Ok(value.clone());
    };
    let default = inner.strip_suffix('}').and_then(|inner| inner.split_once(':'));
    match default {
        Some((_, default)) => Ok(Value::String(default.to_owned())),
        None => Err(ImportError::new(
            path,
            value,
            "a value, or a placeholder with a default: ${NAME:3}",
        )),
    }
}
