//! The subschemas of a schema and the references between them, with the refusal of keywords that read other documents or
//! whose work has no bound.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::position::{Position, own_work, subschemas};

/// Most references of a schema: following them takes stack while a schema is compiled.
const MAX_REFERENCES: usize = 256;
/// Most regular expressions of a schema: each takes memory of its own.
const MAX_PATTERNS: usize = 100;
/// Longest regular expression, in bytes.
const MAX_PATTERN: usize = 512;
/// Characters of a refused value that are shown.
const SHOWN: usize = 100;

/// A place in a schema that is refused, and the bound that it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchemaRefusal {
    pub(super) value: String,
    pub(super) bound: String,
}

impl SchemaRefusal {
    pub(super) fn new(value: impl Into<String>, bound: impl Into<String>) -> Self {
        Self { value: value.into(), bound: bound.into() }
    }
}

/// The subschemas, the root first.
#[derive(Debug)]
pub(super) struct SchemaGraph {
    pub(super) nodes: Vec<SchemaNode>,
}

/// One subschema. Others are named by their indexes.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    /// The work of its own keywords.
    pub(super) work: u64,
    /// Whether it looks again at what its in-place subschemas have evaluated.
    pub(super) is_unevaluated: bool,
    /// Whether it collects the errors of several subschemas when it fails.
    pub(super) collects: bool,
    pub(super) edges: Vec<(Position, usize)>,
}

impl SchemaGraph {
    /// Reads a schema.
    ///
    /// # Errors
    /// A keyword that is not supported, a reference to another document or to nothing, or too many of them.
    pub(super) fn read(root: &Value) -> Result<Self, SchemaRefusal> {
        let mut reader = GraphReader::new(root);
        reader.visit(root)?;
        while let Some((from, reference)) = reader.references.pop() {
            let target = reader.resolve(reference)?;
            let to = reader.visit(target)?;
            reader.nodes[from].edges.push((Position::InPlace, to));
        }
        Ok(Self { nodes: reader.nodes })
    }
}

struct GraphReader<'s> {
    root: &'s Value,
    nodes: Vec<SchemaNode>,
    /// Nodes by the addresses of their values.
    known: HashMap<*const Value, usize>,
    anchors: HashMap<&'s str, &'s Value>,
    /// References that are not followed yet, with their nodes.
    references: Vec<(usize, &'s str)>,
    followed: usize,
    patterns: usize,
}

impl<'s> GraphReader<'s> {
    fn new(root: &'s Value) -> Self {
        Self {
            root,
            nodes: Vec::new(),
            known: HashMap::new(),
            anchors: HashMap::new(),
            references: Vec::new(),
            followed: 0,
            patterns: 0,
        }
    }

    /// The node of a value and of all below it. The depth is that of the document, which is bounded.
    fn visit(&mut self, value: &'s Value) -> Result<usize, SchemaRefusal> {
        if let Some(known) = self.known.get(&std::ptr::from_ref(value)) {
            return Ok(*known);
        }
        let index = self.nodes.len();
        self.known.insert(value, index);
        self.nodes.push(SchemaNode { work: 1, ..SchemaNode::default() });
        let Value::Object(schema) = value else { return Ok(index) };
        self.refuse_keywords(schema, index == 0)?;
        self.count_patterns(schema)?;
        if let Some(Value::String(anchor)) = schema.get("$anchor") {
            self.anchors.insert(anchor, value);
        }
        let has = |keyword: &str| schema.contains_key(keyword);
        self.nodes[index].work = own_work(schema);
        self.nodes[index].is_unevaluated = has("unevaluatedProperties") || has("unevaluatedItems");
        self.nodes[index].collects = has("anyOf") || has("oneOf");
        if let Some(Value::String(reference)) = schema.get("$ref") {
            self.followed += 1;
            if self.followed > MAX_REFERENCES {
                let bound = format!("a schema with at most {MAX_REFERENCES} references");
                return Err(SchemaRefusal::new(format!("{} references", self.followed), bound));
            }
            self.references.push((index, reference));
        }
        for (_, position, subschema) in subschemas(schema) {
            let below = self.visit(subschema)?;
            if position != Position::Definition {
                self.nodes[index].edges.push((position, below));
            }
        }
        Ok(index)
    }

    fn refuse_keywords(
        &self,
        schema: &Map<String, Value>,
        is_root: bool,
    ) -> Result<(), SchemaRefusal> {
        for keyword in ["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"] {
            if schema.contains_key(keyword) {
                return Err(SchemaRefusal::new(
                    keyword,
                    "a schema without it; use $ref and $anchor",
                ));
            }
        }
        for keyword in ["$id", "$schema"] {
            if !is_root && schema.contains_key(keyword) {
                return Err(SchemaRefusal::new(keyword, "set only at the top of the schema"));
            }
        }
        Ok(())
    }

    fn count_patterns(&mut self, schema: &Map<String, Value>) -> Result<(), SchemaRefusal> {
        let of_members = schema.get("patternProperties").and_then(Value::as_object);
        let names = of_members.into_iter().flat_map(|members| members.keys().map(String::as_str));
        let patterns = schema.get("pattern").and_then(Value::as_str).into_iter().chain(names);
        for pattern in patterns {
            self.patterns += 1;
            if pattern.len() > MAX_PATTERN {
                let bound = format!("a regular expression of at most {MAX_PATTERN} bytes");
                return Err(SchemaRefusal::new(shown(pattern), bound));
            }
        }
        if self.patterns > MAX_PATTERNS {
            let bound = format!("a schema with at most {MAX_PATTERNS} regular expressions");
            return Err(SchemaRefusal::new(
                format!("{} regular expressions", self.patterns),
                bound,
            ));
        }
        Ok(())
    }

    fn resolve(&self, reference: &'s str) -> Result<&'s Value, SchemaRefusal> {
        let refused = |bound: &str| SchemaRefusal::new(format!("$ref {}", shown(reference)), bound);
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(refused("a reference within the schema, which begins with #"));
        };
        if fragment.contains('%') {
            return Err(refused("a reference without %"));
        }
        let target = match fragment {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(pointer),
            anchor => self.anchors.get(anchor).copied(),
        };
        target.ok_or_else(|| refused("a reference to a place that the schema has"))
    }
}

/// A text that fits into an error.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
