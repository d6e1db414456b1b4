//! The positions of subschemas within a schema, by the keyword that holds them.

use serde_json::{Map, Value};

/// The relation of a subschema to its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// It is applied to the same place of the payload.
    InPlace,
    /// It is applied to members of this name, and of each member only to one.
    Named,
    /// It is applied to members of any name.
    AnyMember,
    /// It is applied to one item.
    Indexed,
    /// It is applied to any item.
    AnyItem,
    /// It is applied only where a reference names it.
    Definition,
}

/// The form in which a keyword holds its subschemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    One,
    List,
    Members,
}

const KEYWORDS: &[(&str, Holder, Position)] = &[
    ("not", Holder::One, Position::InPlace),
    ("if", Holder::One, Position::InPlace),
    ("then", Holder::One, Position::InPlace),
    ("else", Holder::One, Position::InPlace),
    ("allOf", Holder::List, Position::InPlace),
    ("anyOf", Holder::List, Position::InPlace),
    ("oneOf", Holder::List, Position::InPlace),
    ("dependentSchemas", Holder::Members, Position::InPlace),
    ("dependencies", Holder::Members, Position::InPlace),
    ("properties", Holder::Members, Position::Named),
    ("patternProperties", Holder::Members, Position::AnyMember),
    ("additionalProperties", Holder::One, Position::AnyMember),
    ("unevaluatedProperties", Holder::One, Position::AnyMember),
    ("propertyNames", Holder::One, Position::AnyMember),
    ("prefixItems", Holder::List, Position::Indexed),
    ("items", Holder::List, Position::Indexed),
    ("items", Holder::One, Position::AnyItem),
    ("contains", Holder::One, Position::AnyItem),
    ("additionalItems", Holder::One, Position::AnyItem),
    ("unevaluatedItems", Holder::One, Position::AnyItem),
    ("contentSchema", Holder::One, Position::Definition),
    ("$defs", Holder::Members, Position::Definition),
    ("definitions", Holder::Members, Position::Definition),
];

/// The subschemas of a schema, each with the keyword that holds it. Values that can be no schema are left out: the
/// compiler refuses them.
pub(super) fn subschemas(schema: &Map<String, Value>) -> Vec<(&'static str, Position, &Value)> {
    let mut found = Vec::new();
    for (keyword, holder, position) in KEYWORDS {
        let Some(value) = schema.get(*keyword) else { continue };
        let held: Vec<&Value> = match (holder, value) {
            (Holder::One, Value::Object(_) | Value::Bool(_)) => vec![value],
            (Holder::List, Value::Array(list)) => list.iter().collect(),
            (Holder::Members, Value::Object(members)) => members.values().collect(),
            _ => Vec::new(),
        };
        let schemas = held.into_iter().filter(|it| it.is_object() || it.is_boolean());
        found.extend(schemas.map(|it| (*keyword, *position, it)));
    }
    found
}

/// The work of the keywords of a schema itself, without its subschemas: one, and one more for every 16 values that its
/// keywords list, such as those of an `enum`.
pub(super) fn own_work(schema: &Map<String, Value>) -> u64 {
    let listed = |(keyword, value): (&String, &Value)| match value {
        Value::Array(list) => list.len(),
        Value::Object(members) if keyword != "$defs" && keyword != "definitions" => members.len(),
        _ => 1,
    };
    let listed: usize = schema.iter().map(listed).sum();
    1 + listed as u64 / 16
}
