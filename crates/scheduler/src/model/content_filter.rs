//! Filters on the content of messages: comparisons of payload fields, joined by `all`, `any` and `not`.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value, json};
use stagger_core::ConfigError;

use super::payload_fields::{FieldPaths, FieldValue, PayloadFields};

/// Deepest nesting of `all`, `any` and `not`.
const MAX_DEPTH: usize = 8;
/// Most comparisons of a filter: each is made for every message that the endpoint could receive.
const MAX_COMPARISONS: usize = 32;
/// Most values of an `in`.
const MAX_VALUES: usize = 50;
/// Longest text that a field is compared with, in bytes.
const MAX_TEXT: usize = 256;
/// Longest pointer, in bytes, and most of its steps.
const MAX_POINTER: usize = 256;
const MAX_STEPS: usize = 16;
/// Longest filter as JSON, in bytes: it is kept in memory with its endpoint.
const MAX_BYTES: usize = 8 << 10;

/// A filter on the payload of a message.
///
/// A rule is `{"all": [...]}`, `{"any": [...]}`, `{"not": {...}}`, or a comparison: an object with a
/// `path`, which is a JSON pointer (RFC 6901), and one or more of `eq`, `ne`, `lt`, `le`, `gt`, `ge`,
/// `in`, `exists` and `prefix`, which must all hold.
///
/// - `eq`, `ne` and `in` compare with null, booleans, numbers and texts. Numbers are compared by value, so
///   that 1 equals 1.0; values of different kinds are never equal.
/// - `lt`, `le`, `gt` and `ge` compare numbers with numbers and texts with texts, by their bytes. Fields
///   of another kind fail.
/// - A field that is missing passes `ne` and `"exists": false`, and fails all else.
/// - `prefix` asks a text for its beginning.
///
/// A payload that is not JSON in UTF-8, and one in which an object on a compared path names a member twice,
/// passes no filter at all, not even a `not`. At most 32 comparisons, nested 8 deep, 8 KiB in all.
///
/// ```
/// use serde_json::json;
/// use stagger_scheduler::model::{ContentFilter, FieldPaths};
/// let filter = json!({"all": [{"path": "/amount", "ge": 100}, {"path": "/country", "in": ["DE", "AT"]}]});
/// let filter = ContentFilter::parse(&filter)?;
/// let paths = FieldPaths::of([&filter]);
/// assert!(filter.passes(&paths.read(br#"{"amount": 100.5, "country": "AT"}"#)));
/// assert!(!filter.passes(&paths.read(br#"{"amount": 100.5}"#)));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ContentFilter(FilterRule);

#[derive(Clone, Debug, PartialEq)]
enum FilterRule {
    All(Vec<FilterRule>),
    Any(Vec<FilterRule>),
    Not(Box<FilterRule>),
    Field { path: Arc<str>, comparisons: Vec<Comparison> },
}

/// One comparison of a field.
#[derive(Clone, Debug, PartialEq)]
enum Comparison {
    Eq(Scalar),
    Ne(Scalar),
    Order(&'static str, Scalar),
    In(Vec<Scalar>),
    Exists(bool),
    Prefix(String),
}

/// A value that a field is compared with.
#[derive(Clone, Debug, PartialEq)]
enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
}

/// The names of the four comparisons of order.
const ORDERS: [&str; 4] = ["lt", "le", "gt", "ge"];

/// The result of the comparisons of one field, for a caller who asks why a filter passes or fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldResult {
    /// The pointer of the field.
    pub path: String,
    /// The kind of value that was found: `missing`, `null`, `boolean`, `number`, `string`, or
    /// `array or object`.
    pub found: &'static str,
    /// Whether all comparisons of the field hold.
    pub passed: bool,
}

impl ContentFilter {
    /// The filter that a JSON value describes.
    ///
    /// # Errors
    /// `filter`: the value is no filter, or is out of its bounds. The bound says where.
    pub fn parse(value: &Value) -> Result<Self, ConfigError> {
        let size = value.to_string().len();
        if size > MAX_BYTES {
            return Err(ConfigError::new(
                "filter",
                format!("{size} bytes"),
                "at most 8 KiB of JSON",
            ));
        }
        let mut parser = Parser { place: String::new(), comparisons: 0 };
        parser.rule(value, 1).map(Self)
    }

    /// The filter as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.0.to_json()
    }

    /// Whether a payload passes. The fields must have been read by paths that include those of this
    /// filter.
    #[must_use]
    pub fn passes(&self, fields: &PayloadFields<'_>) -> bool {
        fields.is_readable() && self.0.passes(fields)
    }

    /// The results of all comparisons, in the order in which they stand.
    #[must_use]
    pub fn explain(&self, fields: &PayloadFields<'_>) -> Vec<FieldResult> {
        let mut results = Vec::new();
        self.0.visit(&mut |path, comparisons| {
            let found = fields.get(path);
            results.push(FieldResult {
                path: path.to_owned(),
                found: found.map_or("missing", FieldValue::kind),
                passed: fields.is_readable() && comparisons.iter().all(|it| it.holds(found)),
            });
        });
        results
    }

    /// Calls `visit` with the pointer of each compared field.
    pub(super) fn visit_paths(&self, visit: &mut impl FnMut(&str)) {
        self.0.visit(&mut |path, _| visit(path));
    }
}

impl FilterRule {
    fn passes(&self, fields: &PayloadFields<'_>) -> bool {
        match self {
            Self::All(rules) => rules.iter().all(|rule| rule.passes(fields)),
            Self::Any(rules) => rules.iter().any(|rule| rule.passes(fields)),
            Self::Not(rule) => !rule.passes(fields),
            Self::Field { path, comparisons } => {
                let found = fields.get(path);
                comparisons.iter().all(|comparison| comparison.holds(found))
            }
        }
    }

    fn visit(&self, visit: &mut impl FnMut(&str, &[Comparison])) {
        match self {
            Self::All(rules) | Self::Any(rules) => rules.iter().for_each(|rule| rule.visit(visit)),
            Self::Not(rule) => rule.visit(visit),
            Self::Field { path, comparisons } => visit(path, comparisons),
        }
    }

    fn to_json(&self) -> Value {
        let list = |rules: &[Self]| rules.iter().map(Self::to_json).collect::<Vec<_>>();
        match self {
            Self::All(rules) => json!({ "all": list(rules) }),
            Self::Any(rules) => json!({ "any": list(rules) }),
            Self::Not(rule) => json!({ "not": rule.to_json() }),
            Self::Field { path, comparisons } => {
                let mut members = Map::new();
                members.insert("path".into(), Value::from(&**path));
                members.extend(comparisons.iter().map(|it| (it.name().into(), it.to_json())));
                Value::Object(members)
            }
        }
    }
}

impl Comparison {
    fn holds(&self, found: Option<&FieldValue>) -> bool {
        match self {
            Self::Eq(wanted) => wanted.is(found),
            Self::Ne(wanted) => !wanted.is(found),
            Self::In(wanted) => wanted.iter().any(|wanted| wanted.is(found)),
            Self::Exists(wanted) => found.is_some() == *wanted,
            Self::Prefix(wanted) => {
                matches!(found, Some(FieldValue::Text(text)) if text.starts_with(wanted.as_str()))
            }
            Self::Order(name, bound) => bound.order(found).is_some_and(|order| match *name {
                "lt" => order.is_lt(),
                "le" => order.is_le(),
                "gt" => order.is_gt(),
                _ => order.is_ge(),
            }),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Eq(_) => "eq",
            Self::Ne(_) => "ne",
            Self::Order(name, _) => name,
            Self::In(_) => "in",
            Self::Exists(_) => "exists",
            Self::Prefix(_) => "prefix",
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Eq(value) | Self::Ne(value) | Self::Order(_, value) => value.to_json(),
            Self::In(values) => values.iter().map(Scalar::to_json).collect(),
            Self::Exists(wanted) => Value::Bool(*wanted),
            Self::Prefix(text) => Value::from(text.as_str()),
        }
    }
}

impl Scalar {
    fn is(&self, found: Option<&FieldValue>) -> bool {
        match (self, found) {
            (Self::Null, Some(FieldValue::Null)) => true,
            (Self::Bool(wanted), Some(FieldValue::Bool(found))) => wanted == found,
            _ => self.order(found).is_some_and(Ordering::is_eq),
        }
    }

    /// The order of a found number or text relative to this one.
    fn order(&self, found: Option<&FieldValue>) -> Option<Ordering> {
        match (self, found?) {
            (Self::Number(wanted), FieldValue::Number(found)) => compare(found, wanted),
            (Self::Text(wanted), FieldValue::Text(found)) => Some(found.as_str().cmp(wanted)),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }
}

/// The exact order of two numbers, also of one that is whole and one that is not.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(a), None) => order_of(a, b.as_f64()?),
        (None, Some(b)) => order_of(b, a.as_f64()?).map(Ordering::reverse),
        (None, None) => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// The order of a whole number of 64 bits and a float.
fn order_of(whole: i128, float: f64) -> Option<Ordering> {
    // 2^65: beyond all whole numbers of 64 bits, and exact within 128.
    const BEYOND: f64 = 36_893_488_147_419_103_232.0;
    if float.is_nan() {
        return None;
    }
    // OK because the float is within 2^65, and a cast rounds towards zero as `trunc` does.
    #[expect(clippy::cast_possible_truncation, reason = "the float is whole and within 2^65")]
    let other = float.clamp(-BEYOND, BEYOND).trunc() as i128;
    Some(whole.cmp(&other).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0))))
}

impl Serialize for ContentFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ContentFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Reads rules, and knows where it is.
struct Parser {
    /// The pointer of the value that is read.
    place: String,
    comparisons: usize,
}

const RULE: &str = "an object with all, any, not, or a path and comparisons";
const COMPARISONS: &str = "eq, ne, lt, le, gt, ge, in, exists or prefix";

impl Parser {
    fn rule(&mut self, value: &Value, depth: usize) -> Result<FilterRule, ConfigError> {
        if depth > MAX_DEPTH {
            return Err(self.refuse(value, "nested at most 8 deep"));
        }
        let members = value.as_object().ok_or_else(|| self.refuse(value, RULE))?;
        if members.contains_key("path") {
            return self.field(value, members);
        }
        let mut all = members.iter();
        let (Some((name, inner)), None) = (all.next(), all.next()) else {
            return Err(self.refuse(value, RULE));
        };
        match name.as_str() {
            "all" => self.rules(name, inner, depth).map(FilterRule::All),
            "any" => self.rules(name, inner, depth).map(FilterRule::Any),
            "not" => {
                let rule = self.at(name, |parser| parser.rule(inner, depth + 1))?;
                Ok(FilterRule::Not(Box::new(rule)))
            }
            _ => Err(self.refuse(value, RULE)),
        }
    }

    fn rules(
        &mut self,
        name: &str,
        value: &Value,
        depth: usize,
    ) -> Result<Vec<FilterRule>, ConfigError> {
        self.at(name, |parser| {
            let items = value.as_array().filter(|items| !items.is_empty());
            let items =
                items.ok_or_else(|| parser.refuse(value, "a list with at least one rule"))?;
            let rule = |(n, item): (usize, &Value)| {
                parser.at(&n.to_string(), |parser| parser.rule(item, depth + 1))
            };
            items.iter().enumerate().map(rule).collect()
        })
    }

    fn field(
        &mut self,
        value: &Value,
        members: &Map<String, Value>,
    ) -> Result<FilterRule, ConfigError> {
        let path = self.at("path", |parser| parser.pointer(&members["path"]))?;
        let mut comparisons = Vec::new();
        for (name, given) in members.iter().filter(|(name, _)| *name != "path") {
            comparisons.push(self.at(name, |parser| parser.comparison(name, given))?);
            self.comparisons += 1;
        }
        if comparisons.is_empty() {
            let bound = format!("a path and at least one of {COMPARISONS}");
            return Err(self.refuse(value, &bound));
        }
        if self.comparisons > MAX_COMPARISONS {
            return Err(self.refuse(value, "at most 32 comparisons in the filter"));
        }
        Ok(FilterRule::Field { path, comparisons })
    }

    fn comparison(&self, name: &str, given: &Value) -> Result<Comparison, ConfigError> {
        if let Some(order) = ORDERS.into_iter().find(|order| *order == name) {
            return match self.scalar(given)? {
                bound @ (Scalar::Number(_) | Scalar::Text(_)) => {
                    Ok(Comparison::Order(order, bound))
                }
                _ => Err(self.refuse(given, "a number or a text")),
            };
        }
        match (name, given) {
            ("eq", _) => self.scalar(given).map(Comparison::Eq),
            ("ne", _) => self.scalar(given).map(Comparison::Ne),
            ("in", Value::Array(values)) if (1..=MAX_VALUES).contains(&values.len()) => {
                let values = values.iter().map(|value| self.scalar(value));
                values.collect::<Result<_, _>>().map(Comparison::In)
            }
            ("in", _) => Err(self.refuse(given, "a list of 1 to 50 values")),
            ("exists", Value::Bool(wanted)) => Ok(Comparison::Exists(*wanted)),
            ("exists", _) => Err(self.refuse(given, "true or false")),
            ("prefix", _) => match self.scalar(given)? {
                Scalar::Text(text) => Ok(Comparison::Prefix(text)),
                _ => Err(self.refuse(given, "a text")),
            },
            _ => Err(self.refuse(given, &format!("under one of the names {COMPARISONS}"))),
        }
    }

    fn scalar(&self, value: &Value) -> Result<Scalar, ConfigError> {
        match value {
            Value::Null => Ok(Scalar::Null),
            Value::Bool(value) => Ok(Scalar::Bool(*value)),
            Value::Number(number) => Ok(Scalar::Number(number.clone())),
            Value::String(text) if text.len() <= MAX_TEXT => Ok(Scalar::Text(text.clone())),
            Value::String(_) => Err(self.refuse(value, "at most 256 bytes")),
            _ => Err(self.refuse(value, "null, a boolean, a number or a text")),
        }
    }

    /// A pointer in its one spelling (RFC 6901 section 3).
    fn pointer(&self, value: &Value) -> Result<Arc<str>, ConfigError> {
        let bound = "a JSON pointer such as /data/amount, of at most 256 bytes and 16 steps; ~0 stands \
                     for ~, and ~1 for /";
        let text = value.as_str().ok_or_else(|| self.refuse(value, bound))?;
        let begins = text.is_empty() || text.starts_with('/');
        let escapes = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        let steps = text.matches('/').count();
        if !begins || !escapes || text.len() > MAX_POINTER || steps > MAX_STEPS {
            return Err(self.refuse(value, bound));
        }
        Ok(text.into())
    }

    fn at<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.place.len();
        self.place.push('/');
        self.place.push_str(name);
        let result = read(self);
        self.place.truncate(before);
        result
    }

    fn refuse(&self, value: &Value, bound: &str) -> ConfigError {
        let shown: String = value.to_string().chars().take(MAX_TEXT).collect();
        let place = if self.place.is_empty() { "its top" } else { &self.place };
        ConfigError::new("filter", shown, format!("{bound} (at {place})"))
    }
}

impl FieldPaths {
    /// The paths of these filters.
    pub fn of<'f>(filters: impl IntoIterator<Item = &'f ContentFilter>) -> Self {
        let mut paths = Self::none();
        for filter in filters {
            filter.visit_paths(&mut |pointer| paths.add(pointer));
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passes(filter: Value, payload: &str) -> bool {
        let filter = ContentFilter::parse(&filter).unwrap();
        filter.passes(&FieldPaths::of([&filter]).read(payload.as_bytes()))
    }

    #[test]
    fn comparisons_hold_as_they_are_documented() {
        let payload =
            r#"{"n": 5, "f": 1.5, "t": "abc", "b": true, "z": null, "a": [7, {"x": 1}], "o": {}}"#;
        for (rule, expected) in [
            (json!({"path": "/n", "eq": 5}), true),
            (json!({"path": "/n", "eq": 5.0}), true),
            (json!({"path": "/n", "eq": "5"}), false),
            (json!({"path": "/n", "ne": "5"}), true),
            (json!({"path": "/n", "ge": 5, "lt": 6}), true),
            (json!({"path": "/n", "gt": 5}), false),
            (json!({"path": "/f", "gt": 1, "le": 1.5}), true),
            (json!({"path": "/t", "gt": "abb", "prefix": "ab"}), true),
            (json!({"path": "/t", "lt": 7}), false),
            (json!({"path": "/n", "prefix": "5"}), false),
            (json!({"path": "/t", "in": [1, null, "abc"]}), true),
            (json!({"path": "/b", "eq": true}), true),
            (json!({"path": "/z", "eq": null, "exists": true}), true),
            (json!({"path": "/missing", "eq": null}), false),
            (json!({"path": "/missing", "ne": 1, "exists": false}), true),
            (json!({"path": "/a/0", "eq": 7}), true),
            (json!({"path": "/a/1/x", "eq": 1}), true),
            (json!({"path": "/a/01", "exists": true}), false),
            (json!({"path": "/a/2", "exists": true}), false),
            (json!({"path": "/o", "exists": true}), true),
            (json!({"path": "/o", "eq": null}), false),
            (json!({"path": "", "exists": true}), true),
            (json!({"not": {"path": "/n", "eq": 5}}), false),
            (json!({"any": [{"path": "/n", "eq": 6}, {"path": "/b", "eq": true}]}), true),
            (json!({"all": [{"path": "/n", "eq": 6}, {"path": "/b", "eq": true}]}), false),
        ] {
            assert_eq!(passes(rule.clone(), payload), expected, "{rule}");
        }
    }

    /// The pointers of RFC 6901 section 5.
    #[test]
    fn the_pointers_of_the_rfc_find_what_it_says() {
        let payload = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}"#;
        for (pointer, value) in [
            ("/foo/0", json!("bar")),
            ("/", json!(0)),
            ("/a~1b", json!(1)),
            ("/c%d", json!(2)),
            ("/e^f", json!(3)),
            ("/g|h", json!(4)),
            ("/i\\j", json!(5)),
            ("/k\"l", json!(6)),
            ("/ ", json!(7)),
            ("/m~0n", json!(8)),
        ] {
            assert!(passes(json!({"path": pointer, "eq": value}), payload), "{pointer}");
        }
    }

    #[test]
    fn a_payload_that_cannot_be_read_passed_a_filter() {
        let rule = json!({"not": {"path": "/a", "eq": 1}});
        assert!(passes(rule.clone(), "{}"));
        for payload in ["", "{", "a=1", "{} {}", "\u{feff}{}", r#"{"a": 2, "a": 1}"#] {
            assert!(!passes(rule.clone(), payload), "{payload}");
        }
        let filter = ContentFilter::parse(&rule).unwrap();
        assert!(!filter.passes(&FieldPaths::of([&filter]).read(b"{\"x\": \"\xff\"}")));
        // A name that no comparison looks for may stand twice.
        assert!(passes(rule, r#"{"b": 2, "b": 1}"#));
    }

    #[test]
    fn a_filter_out_of_its_bounds_was_accepted() {
        let deep = (0..8).fold(json!({"path": "/a", "eq": 1}), |rule, _| json!({"not": rule}));
        let rule = json!({"path": "/a", "eq": 1});
        for (filter, told) in [
            (json!(7), "an object with all, any, not"),
            (json!({}), "an object with all, any, not"),
            (json!({"all": [rule], "any": [rule]}), "an object with all, any, not"),
            (json!({"all": []}), "(at /all)"),
            (json!({"any": [rule, {"path": "/a"}]}), "(at /any/1)"),
            (json!({"path": "a", "eq": 1}), "a JSON pointer"),
            (json!({"path": "/a~2", "eq": 1}), "a JSON pointer"),
            (json!({"path": "/a".repeat(17), "eq": 1}), "16 steps"),
            (json!({"path": "/a", "equals": 1}), "under one of the names eq, ne"),
            (json!({"path": "/a", "gt": true}), "a number or a text (at /gt)"),
            (json!({"path": "/a", "eq": {}}), "null, a boolean"),
            (json!({"path": "/a", "in": []}), "1 to 50"),
            (json!({"path": "/a", "exists": 1}), "true or false"),
            (json!({"path": "/a", "prefix": 1}), "a text"),
            (json!({"path": "/a", "eq": "x".repeat(257)}), "at most 256 bytes"),
            (json!({"all": vec![rule.clone(); 33]}), "at most 32 comparisons"),
            (
                json!({"all": vec![json!({"path": "/a", "in": vec!["x".repeat(250); 30]}); 2]}),
                "8 KiB",
            ),
            (deep, "8 deep"),
        ] {
            let error = ContentFilter::parse(&filter).expect_err("out of bounds");
            assert_eq!(error.field(), "filter");
            assert!(error.bound().contains(told), "{filter}: {error}");
        }
    }

    #[test]
    fn whole_numbers_were_rounded_before_they_were_compared() {
        let big = 9_007_199_254_740_993_u64;
        let payload = format!("{{\"n\": {big}}}");
        assert!(!passes(json!({"path": "/n", "eq": 9_007_199_254_740_992.0}), &payload));
        assert!(passes(json!({"path": "/n", "gt": 9_007_199_254_740_992.0}), &payload));
        assert!(passes(json!({"path": "/n", "lt": 1e300, "gt": -1e300}), &payload));
        assert!(passes(json!({"path": "/n", "eq": 0}), "{\"n\": -0.0}"));
        assert!(passes(json!({"path": "/n", "lt": 0}), "{\"n\": -0.5}"));
        assert!(passes(json!({"path": "/n", "eq": u64::MAX}), &format!("{{\"n\": {}}}", u64::MAX)));
    }

    #[test]
    fn an_explanation_names_each_field_and_its_kind() {
        let filter =
            json!({"any": [{"path": "/a", "eq": 1}, {"not": {"path": "/b", "exists": true}}]});
        let filter = ContentFilter::parse(&filter).unwrap();
        let paths = FieldPaths::of([&filter]);
        let fields = paths.read(br#"{"a": "1"}"#);
        let told: Vec<_> =
            filter.explain(&fields).into_iter().map(|it| (it.path, it.found, it.passed)).collect();
        assert_eq!(told, [("/a".to_owned(), "string", false), ("/b".to_owned(), "missing", false)]);
    }

    /// Any JSON of few shapes, so that pointers and values often meet.
    fn any_json() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..3_i64).prop_map(Value::from),
            (-3..3_i32).prop_map(|n| json!(f64::from(n) / 2.0)),
            "[ab]{0,2}".prop_map(Value::from),
        ];
        scalar.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[ab]", inner, 0..3)
                    .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        /// Against the pointers of `serde_json`, on a value that was read as a whole.
        #[test]
        fn a_field_is_found_where_the_whole_value_has_it(
            payload in any_json(),
            pointer in "(/(a|b|0|1)){0,3}",
            wanted in any_json(),
        ) {
            let text = payload.to_string();
            let exists = payload.pointer(&pointer).is_some();
            prop_assert_eq!(passes(json!({"path": pointer, "exists": true}), &text), exists);
            if !wanted.is_array() && !wanted.is_object() {
                let found = payload.pointer(&pointer);
                let same = match (found.and_then(Value::as_f64), wanted.as_f64()) {
                    (Some(found), Some(wanted)) => found.total_cmp(&wanted).is_eq() || found == wanted,
                    _ => found == Some(&wanted),
                };
                prop_assert_eq!(passes(json!({"path": pointer, "eq": wanted}), &text), same);
            }
        }

        #[test]
        fn a_filter_comes_back_as_it_was_written(filter in any_json()) {
            if let Ok(parsed) = ContentFilter::parse(&filter) {
                prop_assert_eq!(ContentFilter::parse(&parsed.to_json()), Ok(parsed));
            }
        }
    }
}
