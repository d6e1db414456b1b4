//! Dashboards and alerts: every metric and label in them is one that the program exports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::manifests::{deploy, files, list, text, yaml};
use super::processes::ListeningProcess;

/// Labels that Prometheus adds, and that of histograms.
const OF_PROMETHEUS: [&str; 3] = ["job", "instance", "le"];

/// Metrics by name, each with its labels and their values.
type Exported = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The metrics of a page of Prometheus; a family without a sample is one too.
fn exported(page: &str) -> Exported {
    let mut exported = Exported::new();
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            exported.entry(family.split(' ').next().expect("a name").to_owned()).or_default();
        }
        let Some((name, rest)) =
            line.split_once(['{', ' ']).filter(|_| line.starts_with("stagger_"))
        else {
            continue;
        };
        let labels = exported.entry(name.to_owned()).or_default();
        let Some((inside, _)) = rest.rsplit_once('}') else { continue };
        for pair in inside.split("\",") {
            let (label, value) = pair.split_once("=\"").expect("a label");
            labels
                .entry(label.to_owned())
                .or_default()
                .insert(value.trim_end_matches('"').to_owned());
        }
    }
    exported
}

fn of_dispatcher() -> Exported {
    let node = ListeningProcess::start(&["serve", "--memory", "--listen", "127.0.0.1:0"], 1);
    exported(&node.get("/metrics"))
}

fn of_proxy() -> Exported {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("monitored.toml");
    // A limit, a breaker and a store, so that their figures are there. That no store answers is no fault.
    let routes = "[proxy]\nlisten = '127.0.0.1:0'\nadmin = '127.0.0.1:0'\n[fleet]\nredis = 'redis://127.0.0.1:9'\n\
                  [route.a]\nupstream = 'http://127.0.0.1:9'\n\
                  policy = { limits = { max_attempts = 1 }, breaker = { consecutive = 5 }, rate_limit = { rate = 5 } }\n";
    std::fs::write(&file, routes).expect("writable");
    let proxy = ListeningProcess::start(&["proxy", "--config", &file.display().to_string()], 2);
    // A call without success, so that its reason is there.
    assert!(proxy.get_first("/").starts_with("HTTP/1.1 50"));
    exported(&proxy.get("/metrics"))
}

/// The expressions of a dashboard or of a file of rules, each with the title around it.
fn expressions(page: &Value, title: &str, found: &mut Vec<(String, String)>) {
    match page {
        Value::Object(map) => {
            let own = ["alert", "title", "name"].iter().find_map(|key| map.get(*key)?.as_str());
            let title = own.unwrap_or(title);
            for (key, value) in map {
                match value.as_str().filter(|_| key == "expr" || key == "query") {
                    Some(expression) if expression != "prometheus" => {
                        found.push((title.to_owned(), expression.to_owned()));
                    }
                    _ => expressions(value, title, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| expressions(value, title, found)),
        _ => {}
    }
}

/// The words of an expression that begin like a metric of ours.
fn metrics(expression: &str) -> Vec<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.split(|c| !word(c)).filter(|it| it.starts_with("stagger_")).collect()
}

/// Labels in braces, each with the value that it is compared with where that is no pattern.
fn matchers(expression: &str) -> Vec<(&str, Option<&str>)> {
    let mut found = Vec::new();
    for part in expression.split('{').skip(1) {
        let inside = part.split('}').next().expect("a part");
        for pair in inside.split(", ") {
            let at = pair.find(['=', '!']).unwrap_or_else(|| panic!("{expression}"));
            let (label, rest) = pair.split_at(at);
            let plain = rest.strip_prefix("=\"").or_else(|| rest.strip_prefix("!=\""));
            found.push((label, plain.map(|value| value.trim_end_matches('"'))));
        }
    }
    found
}

/// Labels of `by (...)`.
fn grouped(expression: &str) -> Vec<&str> {
    let parts =
        expression.split("by (").skip(1).map(|part| part.split(')').next().expect("a part"));
    parts.flat_map(|inside| inside.split(", ")).collect()
}

fn faults(exported: &Exported, page: &Value) -> Vec<String> {
    let mut all = Vec::new();
    expressions(page, "", &mut all);
    assert!(all.len() >= 10, "only {} expressions", all.len());
    // Several metrics have the same label, each with values of its own.
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (label, values) in exported.values().flatten() {
        labels.entry(label).or_default().extend(values.iter().map(String::as_str));
    }
    let mut faults = Vec::new();
    for (title, expression) in &all {
        // `label_values(METRIC, LABEL)` of a variable has its metric first.
        let names: Vec<&str> =
            metrics(expression).into_iter().filter(|it| !labels.contains_key(*it)).collect();
        let unknown = names.iter().filter(|name| !exported.contains_key(**name));
        faults.extend(unknown.map(|name| format!("{title}: no metric {name}")));
        if names.is_empty() && metrics(expression).is_empty() && !expression.starts_with("up{") {
            faults.push(format!("{title}: no metric in {expression}"));
        }
        let known = |label: &str| OF_PROMETHEUS.contains(&label) || labels.contains_key(label);
        for label in grouped(expression).into_iter().filter(|label| !known(label)) {
            faults.push(format!("{title}: no label {label}"));
        }
        for (label, value) in matchers(expression) {
            let wrong = value
                .filter(|_| !OF_PROMETHEUS.contains(&label) && label != "route")
                .filter(|value| labels.get(label).is_none_or(|values| !values.contains(*value)));
            if !known(label) || wrong.is_some() {
                faults.push(format!("{title}: {label} is never {value:?}"));
            }
        }
    }
    faults
}

#[test]
fn every_metric_of_dashboards_and_alerts_is_exported() {
    for (kind, exported) in [("dispatcher", of_dispatcher()), ("proxy", of_proxy())] {
        let dashboard = text(&deploy(&format!("monitoring/{kind}-dashboard.json")));
        let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
        let rules = yaml(&deploy(&format!("monitoring/{kind}-alerts.yaml")));
        for page in [&dashboard, &rules] {
            let faults = faults(&exported, page);
            assert!(faults.is_empty(), "{kind}: {faults:#?}");
        }
    }
}

#[test]
fn a_metric_that_nothing_exports_is_found() {
    let page =
        "# TYPE stagger_calls_total counter\nstagger_calls_total{route=\"a\",state=\"open\"} 1\n";
    let exported = exported(page);
    let rule = |expr: &str| serde_json::json!({ "alert": "A", "expr": expr });
    let rules = |expr: &str| Value::Array(vec![rule(expr); 10]);
    let found = |expr: &str| faults(&exported, &rules(expr)).first().cloned();
    assert_eq!(found(r#"sum by (route) (stagger_calls_total{state="open"})"#), None);
    assert_eq!(found("stagger_call_total"), Some("A: no metric stagger_call_total".to_owned()));
    assert_eq!(found("sum by (rout) (stagger_calls_total)"), Some("A: no label rout".to_owned()));
    let wrong = found(r#"stagger_calls_total{state="opened"}"#);
    assert_eq!(wrong, Some("A: state is never Some(\"opened\")".to_owned()));
    assert!(found("vector(1)").expect("a fault").starts_with("A: no metric in"));
}

#[test]
fn panels_have_places_of_their_own_and_alerts_say_what_to_do() {
    for file in files(&deploy("monitoring"), "json") {
        let page: Value = serde_json::from_str(&text(&file)).expect("JSON");
        let mut cells = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for panel in list(&page["panels"]) {
            let title = &panel["title"];
            assert!(
                ids.insert(panel["id"].as_u64().expect("a number")),
                "{title}: its id is taken"
            );
            assert!(
                panel["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{title}"
            );
            let at = |key: &str| panel["gridPos"][key].as_u64().expect("a number");
            assert!(at("x") + at("w") <= 24, "{title}");
            for x in at("x")..at("x") + at("w") {
                for y in at("y")..at("y") + at("h") {
                    assert!(cells.insert((x, y)), "{title} lies on another panel");
                }
            }
        }
        assert!(ids.len() >= 12, "{}", file.display());
    }
    for file in files(&deploy("monitoring"), "yaml") {
        let rules = yaml(&file);
        let rules = list(&rules["groups"][0]["rules"]);
        let names: BTreeSet<&str> =
            rules.iter().map(|rule| rule["alert"].as_str().expect("a name")).collect();
        assert_eq!(names.len(), rules.len(), "each alert has its own name");
        for rule in rules {
            let severity = rule["labels"]["severity"].as_str();
            assert!(matches!(severity, Some("page" | "ticket")), "{}", rule["alert"]);
            for key in ["summary", "description"] {
                assert!(rule["annotations"][key].is_string(), "{}: {key}", rule["alert"]);
            }
        }
    }
}
