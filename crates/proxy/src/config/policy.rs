//! The policy of a route: a table, a name in the same file, a preset, or another file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use stagger::{HintRule, HintScope, Policy};
use stagger_text::nearest;
use stagger_text::settings::{Document, Flaw, Reader, Value, engine};
use toml::de::DeValue;

use super::route_defaults;

/// The policies of a file, by their names.
pub(super) type NamedPolicies = BTreeMap<String, Policy>;

/// Reads all tables `[policy.NAME]`.
pub(super) fn named(root: &Reader<'_, '_>) -> Result<NamedPolicies, Flaw> {
    let Some(table) = root.table("policy")? else { return Ok(NamedPolicies::new()) };
    let policy =
        |(name, value): (&str, &Value<'_>)| Ok((name.to_owned(), read(&table.name(name), value)?));
    table.names().map(policy).collect()
}

/// The policy of a route. Without one it is the default of the engine with the budget and the breaker of routes.
pub(super) fn of_route(
    route: &Reader<'_, '_>,
    named: &NamedPolicies,
    folder: &Path,
) -> Result<Policy, Flaw> {
    let Some(value) = route.value("policy") else { return Ok(usual()) };
    let key = route.name("policy");
    match value.get_ref() {
        DeValue::String(name) => by_name(name, named, folder)
            .map_err(|why| Flaw::new(value.span(), format!("{key} = {name}: {why}"))),
        _ => read(&key, value),
    }
}

fn usual() -> Policy {
    let breaker = route_defaults::breaker();
    let policy = breaker.and_then(|breaker| Policy::builder().breaker(breaker).build());
    // OK because both parts are defaults, which fit each other.
    shared(with_route_budget(policy.unwrap_or_default()))
}

/// A policy as it stands in a text. Hints hold for the whole destination unless its `hints.scope` is set, the budget is
/// that of routes unless it is set, and so are the window and the open times of a breaker.
///
/// # Errors
/// A value that is no policy, or a setting out of its bounds.
pub fn read(path: &str, value: &Value<'_>) -> Result<Policy, Flaw> {
    let policy: Policy = engine(path, value)?;
    let policy = if sets(value, &["hints", "scope"]) { policy } else { shared(policy) };
    let policy = with_route_breaker(policy, |key| sets(value, &["breaker", key]));
    Ok(if sets(value, &["budget"]) { policy } else { with_route_budget(policy) })
}

/// Whether a text has a value at this path of keys.
fn sets(value: &Value<'_>, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else { return true };
    let DeValue::Table(table) = value.get_ref() else { return false };
    table.get(*key).is_some_and(|inner| sets(inner, rest))
}

fn with_route_budget(policy: Policy) -> Policy {
    let built = policy.to_builder().budget(route_defaults::budget()).build();
    // OK because every budget fits every policy.
    built.unwrap_or(policy)
}

/// The same policy with the settings of a route's breaker in place of those that the text leaves out.
fn with_route_breaker(policy: Policy, sets: impl Fn(&str) -> bool) -> Policy {
    let Some(plan) = policy.breaker() else { return policy };
    let plan = route_defaults::complete(*plan, sets);
    // OK because the windows and the times of routes fit each other and every other setting of a breaker.
    plan.and_then(|plan| policy.to_builder().breaker(plan).build()).unwrap_or(policy)
}

/// The same policy with hints that all callers of a destination keep to.
fn shared(policy: Policy) -> Policy {
    let rule: HintRule = policy.hints().with_scope(HintScope::Destination);
    // OK because the scope of a hint is valid with every other setting.
    policy.to_builder().hints(rule).build().unwrap_or(policy)
}

/// `FILE#NAME`, `FILE.toml`, the name of a policy in this file, or that of a preset.
fn by_name(text: &str, named: &NamedPolicies, folder: &Path) -> Result<Policy, String> {
    if let Some((file, name)) = text.rsplit_once('#') {
        return in_file(&folder.join(file), Some(name));
    }
    if text.ends_with(".toml") || text.contains('/') {
        return in_file(&folder.join(text), None);
    }
    if let Some(policy) = named.get(text) {
        return Ok(*policy);
    }
    let plain = text.replace('-', "_");
    if let Ok(policy) = Policy::preset(&plain) {
        return Ok(shared(policy));
    }
    let known: Vec<&str> = named.keys().map(String::as_str).chain(Policy::PRESETS).collect();
    let near =
        nearest(text, known.iter().copied()).or_else(|| nearest(&plain, known.iter().copied()));
    let meant = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Err(format!("must be the name of a [policy.NAME], a preset, or FILE#NAME{meant}"))
}

/// The policy of another file: one by its name, or the whole file.
fn in_file(file: &Path, name: Option<&str>) -> Result<Policy, String> {
    let shown = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
    let told = |flaw: Flaw| flaw.line(&shown, &text);
    let document = Document::parse(&text).map_err(told)?;
    let root = document.reader();
    let Some(name) = name else { return read("", &root.whole()).map_err(told) };
    let mut policies = named(&root).map_err(told)?;
    policies.remove(name).ok_or_else(|| {
        let meant = nearest(name, policies.keys().map(String::as_str));
        let meant = meant.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        format!("{shown}: there is no [policy.{name}]{meant}")
    })
}

#[cfg(test)]
mod tests {
    use stagger::breaker::BreakerPlan;
    use stagger::budget::BudgetPlan;

    use crate::config::ProxySettings;

    use super::*;

    fn policy(text: &str) -> Policy {
        let text = format!("[route.a]\nupstream = 'http://a.example'\n{text}\n");
        ProxySettings::parse("routes.toml", &text).expect("good settings").routes[0].policy
    }

    fn window(policy: &Policy) -> (f64, u64) {
        let BudgetPlan::Window(plan) = policy.budget() else { panic!("{policy:?}") };
        (plan.ratio().as_f64(), plan.window().as_nanos() / 1_000_000_000)
    }

    #[test]
    fn a_route_had_the_budget_and_the_breaker_of_a_library_unless_it_named_others() {
        let usual = policy("");
        assert_eq!(window(&usual), (0.05, 1));
        assert_eq!(usual.breaker().copied(), route_defaults::breaker().ok());
        let named = policy("policy = 'usual'\n[policy.usual]\nlimits.max_attempts = 5");
        assert_eq!((window(&named), named.breaker()), ((0.05, 1), None));
        let BudgetPlan::Window(plan) = named.budget() else { panic!("{named:?}") };
        assert_eq!(plan.burst(), 4, "a call has all of its retries in hand");
        let own = policy("policy = { budget = { window = { ratio = 0.2 } }, breaker = {} }");
        assert_eq!(window(&own), (0.2, 10), "the whole budget is that of the text");
        assert_eq!(own.breaker().copied(), route_defaults::breaker().ok());
        let ready = policy("policy = 'aws-standard'");
        assert!(matches!(ready.budget(), BudgetPlan::Tokens(_)), "a preset keeps its own");
        let long =
            policy("policy.breaker = { window = '10s', open_time = '5s', open_cap = '60s' }");
        assert_eq!(long.breaker(), Some(&BreakerPlan::default()));
    }
}
