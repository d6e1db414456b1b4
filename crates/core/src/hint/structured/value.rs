//! The values of RFC 9651 section 3 as plain data.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Decimal, Keyed};

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
