//! The fields of a payload that filters compare, found in one pass that keeps nothing else.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// The pointers of all fields that some filters compare, as a tree: a payload is read once for all of
/// them.
///
/// Reading takes time in proportion to the payload, and memory for the compared fields only: a payload
/// that is read as a whole can take a hundred times its size.
#[derive(Clone, Debug)]
pub struct FieldPaths {
    /// The first is the payload itself.
    nodes: Vec<PathNode>,
    slots: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Default)]
struct PathNode {
    members: BTreeMap<Box<str>, usize>,
    /// The same by the index of an array's element.
    elements: BTreeMap<usize, usize>,
    /// The place of the value, if it is compared.
    slot: Option<usize>,
}

/// The compared fields of one payload.
#[derive(Clone, Debug)]
pub struct PayloadFields<'p> {
    slots: &'p BTreeMap<String, usize>,
    /// `None` if the payload cannot be read.
    values: Option<Vec<Option<FieldValue>>>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Composite,
}

impl FieldValue {
    /// The kind of value, in the words of JSON.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Composite => "array or object",
        }
    }
}

impl FieldPaths {
    /// No paths.
    pub(super) fn none() -> Self {
        Self { nodes: vec![PathNode::default()], slots: BTreeMap::new() }
    }

    /// The fields of a payload.
    #[must_use]
    pub fn read(&self, payload: &[u8]) -> PayloadFields<'_> {
        PayloadFields { slots: &self.slots, values: self.values(payload) }
    }

    /// Adds the path of a field, by its pointer.
    pub(super) fn add(&mut self, pointer: &str) {
        if self.slots.contains_key(pointer) {
            return;
        }
        let mut at = 0;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = self.nodes.len();
            let node = &mut self.nodes[at];
            at = *node.members.entry(step.as_str().into()).or_insert(next);
            if let Some(index) = index(&step) {
                node.elements.insert(index, at);
            }
            if at == next {
                self.nodes.push(PathNode::default());
            }
        }
        let slot = self.slots.len();
        self.nodes[at].slot = Some(slot);
        self.slots.insert(pointer.to_owned(), slot);
    }

    fn values(&self, payload: &[u8]) -> Option<Vec<Option<FieldValue>>> {
        // Parts that are passed over are not checked otherwise.
        let text = std::str::from_utf8(payload).ok()?;
        let mut values = vec![None; self.slots.len()];
        let mut reader = serde_json::Deserializer::from_str(text);
        let root = NodeReader { paths: self, at: 0, values: &mut values };
        root.deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Some(values)
    }
}

/// The index of an array's element (RFC 6901 section 4): digits without leading zeros.
fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with('0');
    let digits = step.bytes().all(|byte| byte.is_ascii_digit());
    (plain && digits).then(|| step.parse().ok()).flatten()
}

impl PayloadFields<'_> {
    /// Whether the payload is JSON in which no member of a compared path is named twice.
    #[must_use]
    pub const fn is_readable(&self) -> bool {
        self.values.is_some()
    }

    /// The field at a pointer.
    pub(super) fn get(&self, pointer: &str) -> Option<&FieldValue> {
        self.values.as_ref()?.get(*self.slots.get(pointer)?)?.as_ref()
    }
}

/// Reads the value at a node, and those below it.
struct NodeReader<'r> {
    paths: &'r FieldPaths,
    at: usize,
    values: &'r mut Vec<Option<FieldValue>>,
}

impl NodeReader<'_> {
    fn below(&mut self, at: usize) -> NodeReader<'_> {
        NodeReader { paths: self.paths, at, values: self.values }
    }

    fn keep(&mut self, value: FieldValue) {
        if let Some(slot) = self.paths.nodes[self.at].slot {
            self.values[slot] = Some(value);
        }
    }

    fn number<E: Error>(&mut self, number: Option<Number>) -> Result<(), E> {
        self.keep(FieldValue::Number(number.ok_or_else(|| E::custom("no finite number"))?));
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for NodeReader<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        self.keep(FieldValue::Null);
        Ok(())
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<(), E> {
        self.keep(FieldValue::Bool(value));
        Ok(())
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<(), E> {
        self.number(Some(value.into()))
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<(), E> {
        self.number(Some(value.into()))
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<(), E> {
        self.number(Number::from_f64(value))
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<(), E> {
        self.keep(FieldValue::Text(value.to_owned()));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        self.keep(FieldValue::Composite);
        let elements = &self.paths.nodes[self.at].elements;
        for index in 0.. {
            let found = match elements.get(&index) {
                Some(node) => seq.next_element_seed(self.below(*node))?.is_some(),
                None => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !found {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.keep(FieldValue::Composite);
        let mut seen = Vec::new();
        let members = &self.paths.nodes[self.at].members;
        while let Some(node) = map.next_key_seed(MemberFinder(members))? {
            let Some(node) = node else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            // Readers disagree on the one that counts: RFC 8259 section 4.
            if seen.contains(&node) {
                return Err(A::Error::custom("a member is named twice"));
            }
            seen.push(node);
            map.next_value_seed(self.below(node))?;
        }
        Ok(())
    }
}

/// Finds the node of a member's name, without keeping the name.
struct MemberFinder<'m>(&'m BTreeMap<Box<str>, usize>);

impl<'de> DeserializeSeed<'de> for MemberFinder<'_> {
    type Value = Option<usize>;

    fn deserialize<D: serde::Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberFinder<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.get(name).copied())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ContentFilter;
    use super::*;

    fn filter(value: &serde_json::Value) -> ContentFilter {
        ContentFilter::parse(value).unwrap()
    }

    #[test]
    fn one_pass_finds_the_fields_of_all_filters() {
        let filters = [
            filter(&json!({"path": "/a", "exists": true})),
            filter(&json!({"path": "/a/b", "eq": 1})),
            filter(&json!({"path": "/a/b", "ne": 1})),
        ];
        let paths = FieldPaths::of(&filters);
        assert_eq!(paths.slots.len(), 2);
        let fields = paths.read(br#"{"c": [[[{"a": 2}]]], "a": {"b": 1}}"#);
        assert_eq!(filters.each_ref().map(|it| it.passes(&fields)), [true, true, false]);
    }

    #[test]
    fn a_deep_payload_overflowed_the_stack() {
        let filter = filter(&json!({"path": "/a", "eq": 1}));
        let deep = 100_000;
        let payload = format!("{{\"x\": {}{}, \"a\": 1}}", "[".repeat(deep), "]".repeat(deep));
        assert!(filter.passes(&FieldPaths::of([&filter]).read(payload.as_bytes())));
    }

    /// A member named twice is looked for among those of the path, which a filter bounds.
    #[test]
    fn a_wide_payload_is_read_in_time_with_its_size() {
        let filter = filter(&json!({"path": "/x", "eq": 1}));
        let members: Vec<_> = (0..50_000).map(|n| format!("\"m{n}\": {{\"\": 0}}")).collect();
        let payload = format!("{{{}, \"x\": 1}}", members.join(", "));
        assert!(filter.passes(&FieldPaths::of([&filter]).read(payload.as_bytes())));
    }
}
