//! A schema with its compiled validator, and the first place of a payload that breaks it.

use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;
use stagger_core::ConfigError;

use super::graph::{SchemaGraph, SchemaRefusal, shown};
use super::work::{MAX_LEVELS, SchemaWork};

/// Longest schema as JSON, in bytes: with 1000 event types some 64 MiB of text.
const MAX_BYTES: usize = 64 << 10;
/// Deepest nesting of a schema as JSON: its compiler recurses.
const MAX_DEPTH: usize = 32;
/// Largest payload that is validated, in bytes: as a tree it takes up to 40 times as much memory.
const MAX_PAYLOAD: usize = 1 << 20;
/// Most work of a validation for which all errors of a failing `anyOf` or `oneOf` are collected, as the place is found
/// only so.
const MAX_COLLECTED: u64 = 1 << 20;
/// Memory of one regular expression and of its cache, in bytes.
const PATTERN_MEMORY: usize = 256 << 10;
/// Longest pointer of a violation, in characters.
const MAX_POINTER: usize = 256;

const BOUND: &str = "a JSON Schema of draft 2020-12, or of draft-07 if $schema names that";

/// The JSON Schema of the payloads of an event type: draft 2020-12, or draft-07 where its `$schema` names that.
///
/// References lead only to places within the schema. `$dynamicRef` and `$recursiveRef` are refused, as are `$id` and
/// `$schema` below the top. Regular expressions have neither look-around nor back-references, so that matching takes
/// linear time. `format` is an annotation: it refuses nothing. At most 64 KiB, nested 32 deep; 256 references; 100
/// regular expressions of 512 bytes each; 512 subschemas that are applied to one place of a payload.
///
/// ```
/// use serde_json::json;
/// use stagger_scheduler::model::EventSchema;
/// let schema = json!({"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}});
/// let schema = EventSchema::parse(&schema)?;
/// assert!(schema.check(br#"{"amount": 100}"#).is_ok());
/// let violation = schema.check(br#"{"amount": "100"}"#).expect_err("a text");
/// assert_eq!(violation.to_string(), "the place /amount breaks the keyword type of the schema");
/// assert!(EventSchema::parse(&json!({"$ref": "https://example.com/schema"})).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct EventSchema {
    validator: Arc<Validator>,
    work: SchemaWork,
}

/// The reason for which a payload does not match a schema. It shows nothing of the payload but names of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaViolation {
    /// The payload is not JSON in UTF-8.
    NotJson,
    /// The payload has too many bytes or levels to be validated: what there are too many of, and the most.
    TooLarge(&'static str, usize),
    /// A place of the payload breaks a keyword.
    Keyword {
        /// The JSON pointer of the first such place (RFC 6901), at most 256 characters of it; `None` if it is not known,
        /// because a large payload fails an `anyOf` or `oneOf`.
        pointer: Option<String>,
        /// The keyword.
        keyword: String,
    },
}

impl EventSchema {
    /// Reads and compiles a schema.
    ///
    /// # Errors
    /// It is no schema of these drafts, or breaks a bound: the error names the reference, keyword or size.
    pub fn parse(document: &Value) -> Result<Self, ConfigError> {
        let draft = draft(document)?;
        refuse_large(document)?;
        let refused = |SchemaRefusal { value, bound }| ConfigError::new("schema", value, bound);
        let graph = SchemaGraph::read(document).map_err(refused)?;
        let work = SchemaWork::of(&graph).map_err(refused)?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_MEMORY).dfa_size_limit(PATTERN_MEMORY);
        let options = jsonschema::options().with_draft(draft).offline();
        let options = options.should_validate_formats(false).with_pattern_options(patterns);
        let built = options.build(document).map_err(|error| {
            let place = error.instance_path().as_str();
            ConfigError::new("schema", format!("at {}", shown(place)), invalid(&error.to_string()))
        });
        Ok(Self { validator: Arc::new(built?), work })
    }

    /// Validates a payload.
    ///
    /// # Errors
    /// It does not match: the violation has the first place.
    pub fn check(&self, payload: &[u8]) -> Result<(), SchemaViolation> {
        if payload.len() > MAX_PAYLOAD {
            return Err(SchemaViolation::TooLarge("bytes", MAX_PAYLOAD));
        }
        if levels(payload) > MAX_LEVELS {
            return Err(SchemaViolation::TooLarge("levels", MAX_LEVELS));
        }
        let payload_value: Value =
            serde_json::from_slice(payload).map_err(|_| SchemaViolation::NotJson)?;
        if self.validator.is_valid(&payload_value) {
            return Ok(());
        }
        let collected = (payload.len() as u64).saturating_mul(self.work.at_a_place);
        if self.work.collects && collected > MAX_COLLECTED {
            let keyword = "anyOf or oneOf".to_owned();
            return Err(SchemaViolation::Keyword { pointer: None, keyword });
        }
        let Err(error) = self.validator.validate(&payload_value) else { return Ok(()) };
        let pointer = error.instance_path().as_str();
        let pointer = match pointer.char_indices().nth(MAX_POINTER) {
            Some((end, _)) => format!("{}...", &pointer[..end]),
            None => pointer.to_owned(),
        };
        let keyword = error.kind().keyword().to_owned();
        Err(SchemaViolation::Keyword { pointer: Some(pointer), keyword })
    }
}

fn draft(document: &Value) -> Result<Draft, ConfigError> {
    let named = match document {
        Value::Object(schema) => schema.get("$schema"),
        Value::Bool(_) => None,
        _ => return Err(ConfigError::new("schema", "a value of another type", BOUND)),
    };
    let Some(named) = named else { return Ok(Draft::Draft202012) };
    let text = named.as_str().unwrap_or_default();
    match text.strip_suffix('#').unwrap_or(text) {
        "https://json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        "http://json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        _ => Err(ConfigError::new("schema", format!("$schema {}", shown(text)), BOUND)),
    }
}

fn refuse_large(document: &Value) -> Result<(), ConfigError> {
    let text = document.to_string();
    if text.len() > MAX_BYTES {
        let bound = format!("at most {MAX_BYTES} bytes as JSON");
        return Err(ConfigError::new("schema", format!("{} bytes", text.len()), bound));
    }
    let depth = levels(text.as_bytes());
    if depth > MAX_DEPTH {
        let bound = format!("nested at most {MAX_DEPTH} deep");
        return Err(ConfigError::new("schema", format!("{depth} levels"), bound));
    }
    Ok(())
}

/// The error of the compiler as a bound: one line of it.
fn invalid(error: &str) -> String {
    format!("{BOUND}: {}", shown(error.lines().next().unwrap_or_default()))
}

/// The deepest nesting of objects and arrays in a JSON text. Of other texts it is any number.
fn levels(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

impl fmt::Debug for EventSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSchema").field("work", &self.work).finish_non_exhaustive()
    }
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson => f.write_str("the payload is not JSON"),
            Self::TooLarge(what, most) => {
                write!(f, "the payload has more than {most} {what}, the most that is validated")
            }
            Self::Keyword { pointer: None, keyword } => {
                write!(f, "a place breaks the keyword {keyword} of the schema")
            }
            Self::Keyword { pointer: Some(pointer), keyword } => {
                let place = if pointer.is_empty() { "(the whole payload)" } else { pointer };
                write!(f, "the place {place} breaks the keyword {keyword} of the schema")
            }
        }
    }
}

impl std::error::Error for SchemaViolation {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn refused(schema: &Value) -> String {
        EventSchema::parse(schema).expect_err("it is out of bounds").to_string()
    }

    fn violation(schema: &Value, payload: &str) -> String {
        let schema = EventSchema::parse(schema).expect("it is within bounds");
        schema.check(payload.as_bytes()).expect_err("it does not match").to_string()
    }

    /// Subschemas in which each applies the next one twice.
    fn doubling(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
        let name = |at: usize| format!("s{at}");
        let next = |at: usize| wrap(json!({"$ref": format!("#/$defs/{}", name(at + 1))}));
        let step = |at| (name(at), json!({"anyOf": [next(at), next(at)]}));
        let mut steps: serde_json::Map<_, _> = (0..levels).map(step).collect();
        steps.insert(name(levels), json!({"type": "string"}));
        json!({"$ref": "#/$defs/s0", "$defs": steps})
    }

    #[test]
    fn the_first_place_that_breaks_a_keyword_is_named() {
        let schema = json!({
            "type": "object",
            "required": ["items"],
            "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
            "$defs": {"item": {"type": "object", "required": ["sku"], "properties": {"n/m": {"minimum": 1}}}},
        });
        let place = |payload| violation(&schema, payload);
        assert_eq!(
            place("{}"),
            "the place (the whole payload) breaks the keyword required of the schema"
        );
        let item = r#"{"items": [{"sku": 1}, {"sku": 1, "n/m": 0}]}"#;
        assert_eq!(place(item), "the place /items/1/n~1m breaks the keyword minimum of the schema");
        assert_eq!(place("{"), "the payload is not JSON");
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        assert_eq!(place(&deep), "the payload has more than 64 levels, the most that is validated");
    }

    #[test]
    fn a_schema_is_of_the_draft_that_it_names() {
        let items = |draft: Value| {
            let schema = json!({"$schema": draft, "items": [{"type": "integer"}]});
            EventSchema::parse(&schema)
        };
        let old = items(json!("http://json-schema.org/draft-07/schema#")).expect("an old form");
        assert!(old.check(b"[\"a\"]").is_err());
        assert!(items(json!("https://json-schema.org/draft/2020-12/schema")).is_err());
        let unknown = items(json!("http://json-schema.org/draft-04/schema#")).expect_err("older");
        assert!(
            unknown.to_string().contains("$schema http://json-schema.org/draft-04"),
            "{unknown}"
        );
    }

    #[test]
    fn a_schema_that_reads_another_document_is_refused() {
        for (schema, says) in [
            (json!({"$ref": "https://example.com/s"}), "$ref https://example.com/s: must be"),
            (
                json!({"items": {"$ref": "other.json#/a"}}),
                "other.json#/a: must be a reference within",
            ),
            (json!({"$defs": {"a": {"$ref": "file:///etc/passwd"}}}), "file:///etc/passwd"),
            (json!({"$ref": "#/$defs/none"}), "a reference to a place that the schema has"),
            (json!({"not": {"$id": "https://example.com/"}}), "$id: must be set only at the top"),
            (json!({"$dynamicRef": "#a"}), "$dynamicRef: must be a schema without it"),
        ] {
            let error = refused(&schema);
            assert!(error.contains(says) && error.starts_with("schema = "), "{error}");
        }
        let data =
            json!({"const": {"$ref": "https://example.com/s"}, "properties": {"$ref": true}});
        assert!(EventSchema::parse(&data).is_ok(), "names and data are no references");
    }

    #[test]
    fn a_schema_whose_work_doubles_is_refused() {
        for schema in [
            doubling(40, |next| next),
            doubling(40, |next| json!({"items": next})),
            doubling(40, |next| json!({"additionalProperties": next})),
            json!({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}),
            json!({"items": {"$ref": "#"}, "contains": {"$ref": "#"}}),
        ] {
            let error = refused(&schema);
            assert!(error.contains("at most 512 subschemas to one place"), "{error}");
        }
        for circle in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}),
        ] {
            assert!(refused(&circle).contains("applies itself to the same place"));
        }
        let long = json!({"enum": (0..12_000).collect::<Vec<_>>()});
        assert!(refused(&json!({"anyOf": [long]})).contains("at most 512"));
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}}});
        let tree = EventSchema::parse(&tree).expect("a tree");
        assert!(tree.check(br#"{"left": {"right": {"n": 1}}}"#).is_ok());
        assert!(tree.check(br#"{"left": {"right": {"n": "1"}}}"#).is_err());
    }

    #[test]
    fn a_regular_expression_that_backtracks_is_refused() {
        for pattern in ["(?=a)a", r"(a)\1", "(?<!a)b", "("] {
            let error = refused(&json!({"properties": {"a": {"pattern": pattern}}}));
            assert!(error.starts_with("schema = "), "{error}");
        }
        assert!(refused(&json!({"pattern": "a".repeat(513)})).contains("at most 512 bytes"));
        assert!(refused(&json!({"pattern": "((a{100}){100}){100}"})).starts_with("schema = "));
        let linear = json!({"type": "string", "pattern": "^(a+)+$"});
        assert!(violation(&linear, &format!("\"{}b\"", "a".repeat(50_000))).contains("pattern"));
    }

    #[test]
    fn a_schema_out_of_its_sizes_is_refused() {
        let long = json!({"description": "a".repeat(64 << 10)});
        assert!(refused(&long).contains("at most 65536 bytes"));
        let deep = (0..40).fold(json!(true), |below, _| json!({"not": below}));
        assert!(refused(&deep).contains("nested at most 32 deep"));
        let references: Vec<_> = (0..257).map(|_| json!({"$ref": "#/$defs/a"})).collect();
        let many = json!({"prefixItems": references, "$defs": {"a": true}});
        assert!(refused(&many).contains("at most 256 references"));
        assert!(refused(&json!(7)).contains("JSON Schema of draft 2020-12"));
        assert!(refused(&json!({"type": "text"})).starts_with("schema = at /type: must be"));
    }

    #[test]
    fn the_longest_chain_of_references_fits_on_the_stack_of_a_thread() {
        let name = |at: usize| format!("s{at}");
        let next = |at: usize| json!({"$ref": format!("#/$defs/{}", name(at + 1))});
        let link = |at: usize| (name(at), json!({"properties": {"a": next(at)}}));
        let mut links: serde_json::Map<_, _> = (0..255).map(link).collect();
        links.insert(name(255), json!({"type": "string"}));
        let chain = json!({"$ref": "#/$defs/s0", "$defs": links});
        assert!(EventSchema::parse(&chain).expect("within bounds").check(b"{}").is_ok());
        // Each level of the payload is seven subschemas of one chain.
        let nested =
            (0..5).fold(json!({"items": {"$ref": "#"}}), |below, _| json!({"allOf": [below]}));
        let schema = EventSchema::parse(&nested).expect("within bounds");
        let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
        assert!(schema.check(deep.as_bytes()).is_ok());
    }

    #[test]
    fn a_large_payload_that_fails_a_choice_is_refused_without_a_place() {
        let schema = json!({"items": {"oneOf": [{"type": "string"}, {"type": "integer"}]}});
        assert!(violation(&schema, "[true]").contains("/0 breaks the keyword oneOf"));
        let large = format!("[{}true]", "1,".repeat(400_000));
        assert_eq!(
            violation(&schema, &large),
            "a place breaks the keyword anyOf or oneOf of the schema"
        );
        let larger = format!("[{}true]", "1,".repeat(600_000));
        assert!(violation(&schema, &larger).contains("more than 1048576 bytes"));
    }

    proptest! {
        #[test]
        fn the_levels_of_a_payload_are_those_of_its_tree(text in "[\\[\\]{}\"\\\\:,a1 ]{0,40}") {
            fn depth(value: &Value) -> usize {
                match value {
                    Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
                    Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
                    _ => 0,
                }
            }
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                // A member that is named twice is in the text, and not in the tree.
                prop_assert!(levels(text.as_bytes()) >= depth(&value));
            }
        }
    }
}
