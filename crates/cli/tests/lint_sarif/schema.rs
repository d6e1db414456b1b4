//! The part of JSON Schema (draft 4) that the schema of SARIF uses. Libraries for it would change the
//! features of the `url` and `regex` crates for the whole workspace; a keyword that is not known here
//! is a failure and never passed over.

use reqwest::Url;
use serde_json::{Map, Value};

/// Keywords that say nothing about values.
const WORDS: [&str; 6] = ["$schema", "title", "id", "description", "default", "definitions"];

/// A schema, whose references are within it.
pub(crate) struct Schema(Value);

impl Schema {
    pub(crate) fn of(text: &str) -> Self {
        Self(serde_json::from_str(text).expect("the schema is JSON"))
    }

    /// Everything that is wrong with a value, each with its place.
    pub(crate) fn faults(&self, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.0, value, "", &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let rules = schema.as_object().expect("schemas of draft 4 are objects");
        if let Some(reference) = rules.get("$ref") {
            let pointer = reference.as_str().and_then(|it| it.strip_prefix('#'));
            let target = pointer.and_then(|pointer| self.0.pointer(pointer));
            return self.check(target.expect("it is within the schema"), value, at, faults);
        }
        for (keyword, rule) in
            rules.iter().filter(|(keyword, _)| !WORDS.contains(&keyword.as_str()))
        {
            if !self.holds(keyword, rule, rules, value, at, faults) {
                faults.push(format!("{at}: {keyword} must be {rule}, is {value}"));
            }
        }
    }

    /// Whether one keyword holds; what is wrong below it goes to `faults`.
    fn holds(
        &self,
        keyword: &str,
        rule: &Value,
        rules: &Map<String, Value>,
        value: &Value,
        at: &str,
        faults: &mut Vec<String>,
    ) -> bool {
        let passes = |schema: &Value| {
            let mut below = Vec::new();
            self.check(schema, value, at, &mut below);
            below.is_empty()
        };
        let branches = || list(rule).iter().filter(|schema| passes(schema)).count();
        match keyword {
            "type" => match rule {
                Value::Array(types) => types.iter().any(|it| has_type(it, value)),
                only => has_type(only, value),
            },
            "enum" => list(rule).contains(value),
            "required" => {
                let has = |name: &Value| value.get(name.as_str().expect("a name")).is_some();
                !value.is_object() || list(rule).iter().all(has)
            }
            "properties" => {
                for (name, schema) in rule.as_object().expect("a schema for each") {
                    if let Some(value) = value.get(name) {
                        self.check(schema, value, &format!("{at}/{name}"), faults);
                    }
                }
                true
            }
            "additionalProperties" => self.additional(rule, rules, value, at, faults),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.check(rule, item, &format!("{at}/{index}"), faults);
                }
                true
            }
            "minItems" => value.as_array().is_none_or(|all| all.len() as u64 >= whole(rule)),
            "uniqueItems" => value.as_array().is_none_or(|all| {
                all.iter().enumerate().all(|(index, item)| !all[..index].contains(item))
            }),
            "minimum" => value.as_f64().is_none_or(|it| it >= rule.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|it| it <= rule.as_f64().expect("a number")),
            "anyOf" => branches() > 0,
            "oneOf" => branches() == 1,
            "format" => value.as_str().is_none_or(|text| has_format(rule, text)),
            unknown => panic!("{at}: the keyword {unknown} is not known here"),
        }
    }

    fn additional(
        &self,
        rule: &Value,
        rules: &Map<String, Value>,
        value: &Value,
        at: &str,
        faults: &mut Vec<String>,
    ) -> bool {
        let known =
            |name: &String| rules.get("properties").is_some_and(|it| it.get(name).is_some());
        let mut others = value.as_object().into_iter().flatten().filter(|(name, _)| !known(name));
        match rule {
            Value::Bool(allowed) => *allowed || others.next().is_none(),
            schema => {
                others.for_each(|(name, value)| {
                    self.check(schema, value, &format!("{at}/{name}"), faults);
                });
                true
            }
        }
    }
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().expect("a list")
}

fn whole(rule: &Value) -> u64 {
    rule.as_u64().expect("a whole number")
}

fn has_type(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("null") => value.is_null(),
        unknown => panic!("the type {unknown:?} is not known here"),
    }
}

/// RFC 3986: an absolute URI, or a reference that is one beside a base.
fn has_format(rule: &Value, text: &str) -> bool {
    let base = Url::parse("file:///folder/").expect("a URI");
    let graphic = text.bytes().all(|byte| byte.is_ascii_graphic());
    match rule.as_str() {
        Some("uri") => graphic && Url::parse(text).is_ok(),
        Some("uri-reference") => graphic && base.join(text).is_ok(),
        unknown => panic!("the format {unknown:?} is not known here"),
    }
}
