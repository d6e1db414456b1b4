//! Structured fields: all files of `structured-fields/`, parsed and written.

use serde::Deserialize;
use serde_json::Value;
use stagger_core::hint::structured::{
    BareItem, Decimal, Dictionary, InnerList, Item, Keyed, List, Member, Parameters,
    StructuredError,
};

use super::Suite;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../vectors/structured-fields/", $name)))),*]
    };
}

const PARSED: [(&str, &str); 17] = files![
    "binary.json",
    "boolean.json",
    "date.json",
    "dictionary.json",
    "display-string.json",
    "examples.json",
    "item.json",
    "key-generated.json",
    "list.json",
    "listlist.json",
    "number-generated.json",
    "number.json",
    "param-dict.json",
    "param-list.json",
    "param-listlist.json",
    "string-generated.json",
    "string.json",
];
const PARSED_TOKENS: [(&str, &str); 2] = files!["token-generated.json", "token.json"];
const WRITTEN: [(&str, &str); 4] = files![
    "serialisation-tests/key-generated.json",
    "serialisation-tests/number.json",
    "serialisation-tests/string-generated.json",
    "serialisation-tests/token-generated.json",
];

#[derive(Deserialize)]
struct StructuredFieldCase {
    name: String,
    raw: Option<Vec<String>>,
    header_type: String,
    expected: Option<Value>,
    #[serde(default)]
    must_fail: bool,
    canonical: Option<Vec<String>>,
}

/// A field of any of the three kinds.
#[derive(Debug, PartialEq)]
enum Field {
    Item(Item),
    List(List),
    Dictionary(Dictionary),
}

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let parsed = PARSED.iter().chain(&PARSED_TOKENS).map(|file| suite(file, parse_case));
    let written = WRITTEN.iter().map(|file| suite(file, write_case));
    parsed.chain(written).collect()
}

fn suite((name, text): &(&str, &str), run: fn(&mut Suite, StructuredFieldCase)) -> Suite {
    let mut suite = Suite::new(format!("structured-fields/{name}"));
    let cases: Vec<StructuredFieldCase> =
        serde_json::from_str(text).expect("a vector file that is JSON");
    cases.into_iter().for_each(|case| run(&mut suite, case));
    suite
}

/// A row passes when it is parsed as expected (rows that may fail included: we accept them), and
/// written back in its canonical form.
fn parse_case(suite: &mut Suite, case: StructuredFieldCase) {
    let raw = case.raw.expect("a row of raw lines");
    let got = Field::parse(&case.header_type, raw.join(", ").as_bytes()).ok();
    let written = got.as_ref().and_then(|field| field.serialize().ok());
    let want = (!case.must_fail).then(|| expected(&case.header_type, case.expected.as_ref()));
    let canonical = want.is_some().then(|| case.canonical.unwrap_or(raw).join(", "));
    suite.check(case.name, &(got, written), &(want, canonical));
}

fn write_case(suite: &mut Suite, case: StructuredFieldCase) {
    let field = try_expected(&case.header_type, case.expected.as_ref());
    let got = field.and_then(|field| field.serialize().ok());
    let want = case.canonical.filter(|_| !case.must_fail).map(|lines| lines.join(", "));
    suite.check(case.name, &got, &want);
}

impl Field {
    fn parse(kind: &str, text: &[u8]) -> Result<Self, StructuredError> {
        match kind {
            "item" => Item::parse(text).map(Self::Item),
            "list" => List::parse(text).map(Self::List),
            _ => Dictionary::parse(text).map(Self::Dictionary),
        }
    }

    fn serialize(&self) -> Result<String, StructuredError> {
        match self {
            Self::Item(item) => item.serialize(),
            Self::List(list) => list.serialize(),
            Self::Dictionary(dictionary) => dictionary.serialize(),
        }
    }
}

fn expected(kind: &str, value: Option<&Value>) -> Field {
    try_expected(kind, value).expect("a value that the engine can hold")
}

/// The value that a row describes; `None` when no value of ours can hold it.
fn try_expected(kind: &str, value: Option<&Value>) -> Option<Field> {
    let value = value?;
    Some(match kind {
        "item" => Field::Item(item(value)?),
        "list" => Field::List(List(value.as_array()?.iter().map(member).collect::<Option<_>>()?)),
        _ => Field::Dictionary(keyed(value, member)?),
    })
}

fn member(value: &Value) -> Option<Member> {
    let items = value.get(0)?;
    if !items.is_array() {
        return item(value).map(Member::Item);
    }
    let items = items.as_array()?.iter().map(item).collect::<Option<_>>()?;
    Some(Member::InnerList(InnerList { items, parameters: parameters(value)? }))
}

fn item(value: &Value) -> Option<Item> {
    Some(Item { value: bare(value.get(0)?)?, parameters: parameters(value)? })
}

fn parameters(value: &Value) -> Option<Parameters> {
    keyed(value.get(1)?, bare)
}

fn keyed<V>(value: &Value, read: impl Fn(&Value) -> Option<V>) -> Option<Keyed<V>> {
    let mut keyed = Keyed::default();
    for pair in value.as_array()? {
        keyed.insert(pair.get(0)?.as_str()?, read(pair.get(1)?)?);
    }
    Some(keyed)
}

fn bare(value: &Value) -> Option<BareItem> {
    match value {
        Value::Bool(yes) => Some(BareItem::Boolean(*yes)),
        Value::String(text) => Some(BareItem::String(text.clone())),
        Value::Number(n) => match n.as_i64() {
            Some(n) => Some(BareItem::Integer(n)),
            None => decimal(&n.to_string()).map(BareItem::Decimal),
        },
        Value::Object(typed) => {
            let value = typed.get("value")?;
            match typed.get("__type")?.as_str()? {
                "token" => Some(BareItem::Token(value.as_str()?.into())),
                "binary" => Some(BareItem::Bytes(base32(value.as_str()?)?)),
                "date" => Some(BareItem::Date(value.as_i64()?)),
                "displaystring" => Some(BareItem::DisplayString(value.as_str()?.into())),
                _ => None,
            }
        }
        Value::Null | Value::Array(_) => None,
    }
}

/// A decimal as JSON prints it, such as `-0.0015`.
fn decimal(text: &str) -> Option<Decimal> {
    let (whole, fraction) = text.split_once('.')?;
    let scaled = format!("{whole}{fraction}").parse().ok()?;
    Decimal::from_scaled(scaled, u32::try_from(fraction.len()).ok()?)
}

/// Base32 of RFC 4648 section 6, in which the files write bytes.
fn base32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for sign in text.trim_end_matches('=').bytes() {
        let value = match sign {
            b'A'..=b'Z' => sign - b'A',
            b'2'..=b'7' => sign - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            // OK because the mask keeps the byte that is complete.
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}
