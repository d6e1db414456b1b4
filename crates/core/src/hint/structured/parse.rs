//! Text to lists, dictionaries and items (RFC 9651 section 4.2).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{BareItem, Dictionary, InnerList, Item, List, Member, Parameters};

pub(super) type StructuredResult<T> = Result<T, StructuredError>;

/// Members of a list or a dictionary: what every parser must support (sections 3.1 and 3.2).
const MAX_MEMBERS: usize = 1024;
/// Items of an inner list, and parameters: what every parser must support (section 3.1.1, 3.1.2).
const MAX_INNER: usize = 256;

impl Item {
    /// Reads a field value that is an item.
    ///
    /// # Errors
    /// The text is not an item, or more text follows the item.
    pub fn parse(text: &[u8]) -> StructuredResult<Self> {
        Cursor::whole(text, |cursor| cursor.item())
    }
}

impl List {
    /// Reads a field value that is a list; blank text is an empty one.
    ///
    /// # Errors
    /// The text is not a list, or the list has more than 1024 members.
    pub fn parse(text: &[u8]) -> StructuredResult<Self> {
        Cursor::whole(text, |cursor| {
            let mut members = Vec::new();
            cursor.members(|cursor| {
                members.push(cursor.member()?);
                Ok(members.len())
            })?;
            Ok(Self(members))
        })
    }
}

impl Dictionary {
    /// Reads a field value that is a dictionary; blank text is an empty one.
    ///
    /// # Errors
    /// The text is not a dictionary, or the dictionary has more than 1024 keys.
    pub fn parse(text: &[u8]) -> StructuredResult<Self> {
        Cursor::whole(text, |cursor| {
            let mut dictionary = Self::default();
            cursor.members(|cursor| {
                let key = cursor.key()?;
                dictionary.insert(key, cursor.dictionary_member()?);
                Ok(dictionary.len())
            })?;
            Ok(dictionary)
        })
    }
}

/// A place in the text; parsing only ever moves it ahead.
pub(super) struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Cursor<'t> {
    /// Parses all of the text; spaces around do not count.
    fn whole<T>(
        text: &'t [u8],
        parse: impl FnOnce(&mut Self) -> StructuredResult<T>,
    ) -> StructuredResult<T> {
        let mut cursor = Self { text, at: 0 };
        cursor.skip(b" ");
        let value = parse(&mut cursor)?;
        cursor.skip(b" ");
        match cursor.peek() {
            None => Ok(value),
            Some(_) => cursor.fail("the end"),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The next byte, which is then behind.
    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Whether `byte` is next; if so it is then behind.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// The longest run of bytes that `belongs`.
    pub(super) fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'t [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&b| !belongs(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    pub(super) fn fail<T>(&self, expected: &'static str) -> StructuredResult<T> {
        Err(StructuredError::parse(self.at, expected))
    }

    fn skip(&mut self, blanks: &[u8]) {
        self.take_while(|b| blanks.contains(&b));
    }

    /// Members with commas between them; `parse` answers how many there are by now.
    fn members(
        &mut self,
        mut parse: impl FnMut(&mut Self) -> StructuredResult<usize>,
    ) -> StructuredResult<()> {
        while self.peek().is_some() {
            if parse(self)? > MAX_MEMBERS {
                return self.fail("at most 1024 members");
            }
            self.skip(b" \t");
            if self.peek().is_none() {
                break;
            }
            if !self.eat(b',') {
                return self.fail("a comma");
            }
            self.skip(b" \t");
            if self.peek().is_none() {
                return self.fail("a member after the comma");
            }
        }
        Ok(())
    }

    fn member(&mut self) -> StructuredResult<Member> {
        if self.eat(b'(') {
            self.inner_list().map(Member::InnerList)
        } else {
            self.item().map(Member::Item)
        }
    }

    /// Parses the value after a key: `=` and a member, or nothing, which means true.
    fn dictionary_member(&mut self) -> StructuredResult<Member> {
        if self.eat(b'=') {
            return self.member();
        }
        let parameters = self.parameters()?;
        Ok(Member::Item(Item { value: BareItem::Boolean(true), parameters }))
    }

    /// Parses an inner list after its opening parenthesis.
    fn inner_list(&mut self) -> StructuredResult<InnerList> {
        let mut items = Vec::new();
        loop {
            self.skip(b" ");
            if self.eat(b')') {
                return Ok(InnerList { items, parameters: self.parameters()? });
            }
            if items.len() == MAX_INNER {
                return self.fail("at most 256 items in parentheses");
            }
            items.push(self.item()?);
            if !matches!(self.peek(), Some(b' ' | b')')) {
                return self.fail("a space or the closing parenthesis");
            }
        }
    }

    fn item(&mut self) -> StructuredResult<Item> {
        Ok(Item { value: self.bare_item()?, parameters: self.parameters()? })
    }

    fn parameters(&mut self) -> StructuredResult<Parameters> {
        let mut parameters = Parameters::default();
        while self.eat(b';') {
            self.skip(b" ");
            let key = self.key()?;
            let value = if self.eat(b'=') { self.bare_item()? } else { BareItem::Boolean(true) };
            parameters.insert(key, value);
            if parameters.len() > MAX_INNER {
                return self.fail("at most 256 parameters");
            }
        }
        Ok(parameters)
    }

    fn key(&mut self) -> StructuredResult<String> {
        if !self.peek().is_some_and(starts_key) {
            return self.fail("a key");
        }
        Ok(self.take_while(continues_key).iter().map(|&b| char::from(b)).collect())
    }
}

/// Whether a key may begin with this byte.
pub(super) fn starts_key(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'*'
}

/// Whether a key may go on with this byte.
pub(super) fn continues_key(byte: u8) -> bool {
    starts_key(byte) || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.')
}

/// Text that is no structured field, or a value that cannot be written as one.
///
/// ```
/// use stagger_core::hint::structured::Item;
/// let error = Item::parse(b"\"open").unwrap_err();
/// assert_eq!(error.to_string(), "byte 5: expected the closing quote");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructuredError {
    at: Option<usize>,
    expected: &'static str,
}

impl StructuredError {
    pub(super) const fn parse(at: usize, expected: &'static str) -> Self {
        Self { at: Some(at), expected }
    }

    pub(super) const fn serialize(expected: &'static str) -> Self {
        Self { at: None, expected }
    }

    /// The byte of the text at which parsing ended; nothing when a value could not be written.
    #[must_use]
    pub const fn at(&self) -> Option<usize> {
        self.at
    }
}

impl fmt::Display for StructuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, "byte {at}: ")?;
        }
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for StructuredError {}
