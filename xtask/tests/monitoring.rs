//! The expressions of dashboards and alerts: each is PromQL, by its grammar and its types.
//!
//! That their metrics are exported is a test of the program's crate.

use std::fs;

use promql_parser::parser::{Expr, parse};
use serde_json::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/monitoring");

/// Every expression below, with Grafana's variables as Prometheus would get them.
fn expressions(page: &Value, found: &mut Vec<String>) {
    match page {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str().filter(|_| key == "expr") {
                    Some(text) => {
                        let text = text.replace("$__rate_interval", "5m").replace("$__range", "3h");
                        found.push(text);
                    }
                    None => expressions(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

/// The names of all selectors of an expression.
fn selected(expression: &Expr, names: &mut Vec<String>) {
    match expression {
        Expr::Aggregate(it) => {
            selected(&it.expr, names);
            it.param.iter().for_each(|param| selected(param, names));
        }
        Expr::Unary(it) => selected(&it.expr, names),
        Expr::Binary(it) => [&it.lhs, &it.rhs].into_iter().for_each(|side| selected(side, names)),
        Expr::Paren(it) => selected(&it.expr, names),
        Expr::Subquery(it) => selected(&it.expr, names),
        Expr::VectorSelector(it) => names.extend(it.name.clone()),
        Expr::MatrixSelector(it) => names.extend(it.vs.name.clone()),
        Expr::Call(it) => it.args.args.iter().for_each(|argument| selected(argument, names)),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => {}
    }
}

#[test]
fn every_expression_is_promql_about_our_metrics() {
    let mut files = 0;
    for entry in fs::read_dir(FOLDER).expect("a folder") {
        let path = entry.expect("it can be read").path();
        let text = fs::read_to_string(&path).expect("text");
        let page: Value = match path.extension().and_then(|end| end.to_str()) {
            Some("json") => serde_json::from_str(&text).expect("JSON"),
            Some("yaml") => serde_saphyr::from_str(&text).expect("YAML"),
            other => panic!("{other:?}: {}", path.display()),
        };
        let mut all = Vec::new();
        expressions(&page, &mut all);
        assert!(all.len() >= 10, "{}: {} expressions", path.display(), all.len());
        for expression in all {
            let parsed = parse(&expression);
            let parsed =
                parsed.unwrap_or_else(|why| panic!("{}: {expression}: {why}", path.display()));
            let mut names = Vec::new();
            selected(&parsed, &mut names);
            assert!(!names.is_empty(), "{expression} selects nothing");
            for name in names {
                assert!(name == "up" || name.starts_with("stagger_"), "{expression}: {name}");
            }
        }
        files += 1;
    }
    assert_eq!(files, 4, "two dashboards and two files of rules");
}

#[test]
fn an_expression_that_prometheus_refuses_is_refused_here() {
    for wrong in ["sum by (a (b)", "rate(stagger_calls_total)", "histogram_quantile(0.9)", "a +"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    let mut names = Vec::new();
    selected(&parse("sum(rate(a[5m])) / (b > 0)").expect("PromQL"), &mut names);
    assert_eq!(names, ["a", "b"]);
}
