//! The values of RFC 9651 section 3 as plain data, parameters and dictionaries included.

use alloc::string::String;
use alloc::vec::Vec;

use super::Decimal;

/// A single value without parameters (section 3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BareItem {
    /// A whole number of at most 15 digits.
    Integer(i64),
    /// A number with up to three decimal places.
    Decimal(Decimal),
    /// Printable ASCII in quotes.
    String(String),
    /// A word without quotes; starts with a letter or `*`.
    Token(String),
    /// Any bytes, written in base64 between colons.
    Bytes(Vec<u8>),
    /// `?0` or `?1`.
    Boolean(bool),
    /// Seconds since 1970-01-01T00:00:00Z, at most 15 digits.
    Date(i64),
    /// Any text, escaped.
    DisplayString(String),
}

/// Parameters of an item or an inner list, in order (section 3.1.2).
pub type Parameters = Keyed<BareItem>;

/// A dictionary: keys with members, in order (section 3.2).
pub type Dictionary = Keyed<Member>;

/// A value with parameters (section 3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The value itself.
    pub value: BareItem,
    /// The parameters of the item.
    pub parameters: Parameters,
}

impl From<BareItem> for Item {
    /// The value without parameters.
    fn from(value: BareItem) -> Self {
        Self { value, parameters: Parameters::default() }
    }
}

/// Items in parentheses, with parameters of the whole (section 3.1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InnerList {
    /// The items, each with its own parameters.
    pub items: Vec<Item>,
    /// The parameters of the whole list.
    pub parameters: Parameters,
}

/// A member of a list or a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// A single item.
    Item(Item),
    /// Several items in parentheses.
    InnerList(InnerList),
}

impl Member {
    /// The item, when it is a single one.
    #[must_use]
    pub const fn as_item(&self) -> Option<&Item> {
        match self {
            Self::Item(item) => Some(item),
            Self::InnerList(_) => None,
        }
    }
}

/// A list of members in order (section 3.1); an empty one is a field that is not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List(pub Vec<Member>);

/// Values by key, in the order of writing; a key that comes again replaces the value in its place.
///
/// ```
/// use stagger_core::hint::structured::{BareItem, Parameters};
/// let mut parameters = Parameters::default();
/// parameters.insert("q", BareItem::Integer(1));
/// parameters.insert("q", BareItem::Integer(2));
/// assert_eq!(parameters.get("q"), Some(&BareItem::Integer(2)));
/// assert_eq!(parameters.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed<V>(Vec<(String, V)>);

impl<V> Keyed<V> {
    /// Sets the value of `key`; whether the key can be written is found out when it is.
    pub fn insert(&mut self, key: impl Into<String>, value: V) {
        let key = key.into();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}
