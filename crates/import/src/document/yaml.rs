//! YAML 1.2 with places: every document of a stream.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::tree::{Places, SettingsDocument, below};
use crate::ImportError;

pub(super) fn read(text: &str) -> Result<Vec<SettingsDocument>, ImportError> {
    let documents: Vec<Spanned<YamlNode>> = serde_saphyr::from_multiple(text).map_err(|error| {
        let shown = error.to_string();
        let first = shown.lines().next().unwrap_or("no YAML");
        ImportError::new("", first, "YAML without mistakes")
    })?;
    Ok(documents.into_iter().map(document).collect())
}

fn document(node: Spanned<YamlNode>) -> SettingsDocument {
    let mut places = Places::new();
    let tree = settle("", node, &mut places);
    SettingsDocument::new(tree, places)
}

/// A value of the stream before its place is known by its path.
enum YamlNode {
    Scalar(Value),
    List(Vec<Spanned<YamlNode>>),
    Table(Vec<(String, Spanned<YamlNode>)>),
}

fn settle(path: &str, node: Spanned<YamlNode>, places: &mut Places) -> Value {
    let span = node.referenced.span();
    // OK because a text in memory is shorter than usize::MAX bytes.
    let index = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
    if let (Some(start), Some(length)) = (index(span.byte_offset()), index(span.byte_len())) {
        places.insert(path.to_owned(), start..start + length);
    }
    match node.value {
        YamlNode::Scalar(value) => value,
        YamlNode::List(list) => {
            let numbered = list.into_iter().enumerate();
            numbered.map(|(i, node)| settle(&below(path, &i.to_string()), node, places)).collect()
        }
        YamlNode::Table(table) => {
            let mut map = Map::new();
            for (key, node) in table {
                let value = settle(&below(path, &key), node, places);
                map.insert(key, value);
            }
            Value::Object(map)
        }
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = YamlNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value of YAML")
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlNode, E> {
        Ok(YamlNode::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlNode, E> {
        Ok(YamlNode::Scalar(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlNode, E> {
        Ok(YamlNode::Scalar(Value::Number(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlNode, E> {
        // An infinite number has no form in JSON; as a text it is refused where a number is needed.
        let number = Number::from_f64(value).map(Value::Number);
        Ok(YamlNode::Scalar(number.unwrap_or_else(|| Value::String(value.to_string()))))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlNode, E> {
        Ok(YamlNode::Scalar(Value::String(value.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlNode, D::Error> {
        YamlNode::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<YamlNode, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = access.next_element()? {
            list.push(node);
        }
        Ok(YamlNode::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<YamlNode, A::Error> {
        let mut table = Vec::new();
        while let Some(key) = access.next_key::<Key>()? {
            table.push((key.0, access.next_value()?));
        }
        Ok(YamlNode::Table(table))
    }
}

/// A key, which YAML lets be a number or a boolean.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match YamlNode::deserialize(deserializer)? {
            YamlNode::Scalar(Value::String(text)) => Ok(Self(text)),
            YamlNode::Scalar(other) => Ok(Self(other.to_string())),
            _ => Err(serde::de::Error::custom("a key that is a list or a table")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_and_every_value_has_its_place() {
        let text = "a:\n  b: [x, 2.5]\n1: true\n---\nkind: é\nc: null\n";
        let documents = read(text).expect("YAML");
        assert_eq!(documents.len(), 2);
        assert_eq!(documents[0].place("a.b.1").map(|at| &text[at]), Some("2.5"));
        assert_eq!(documents[0].tree()["1"], Value::Bool(true));
        assert_eq!(documents[1].place("kind").map(|at| &text[at]), Some("é"));
        assert_eq!(documents[1].place("c.d"), documents[1].place("c"));
    }
}
