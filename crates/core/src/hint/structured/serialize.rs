//! Lists, dictionaries and items to their canonical text (RFC 9651 section 4.1).

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write;

use super::bare::{continues_token, starts_token};
use super::parse::{continues_key, starts_key};
use super::{
    BareItem, Dictionary, InnerList, Item, List, Member, Parameters, StructuredError, base64,
};

type Written = Result<(), StructuredError>;

/// The longest integer has 15 digits.
const MAX_INTEGER: u64 = 999_999_999_999_999;

impl Item {
    /// The canonical text.
    ///
    /// # Errors
    /// A part cannot be written: a number of 16 digits, a string that is not printable ASCII,
    /// a token or a key with a byte that it may not have.
    pub fn serialize(&self) -> Result<String, StructuredError> {
        let mut text = String::new();
        write_item(&mut text, self)?;
        Ok(text)
    }
}

impl List {
    /// The canonical text; empty text means that the field is not sent.
    ///
    /// # Errors
    /// As [`Item::serialize`].
    pub fn serialize(&self) -> Result<String, StructuredError> {
        let mut text = String::new();
        for member in &self.0 {
            separate(&mut text);
            write_member(&mut text, member)?;
        }
        Ok(text)
    }
}

impl Dictionary {
    /// The canonical text; empty text means that the field is not sent.
    ///
    /// # Errors
    /// As [`Item::serialize`].
    pub fn serialize(&self) -> Result<String, StructuredError> {
        let mut text = String::new();
        for (key, member) in self.iter() {
            separate(&mut text);
            write_key(&mut text, key)?;
            match member {
                Member::Item(Item { value: BareItem::Boolean(true), parameters }) => {
                    write_parameters(&mut text, parameters)?;
                }
                member => {
                    text.push('=');
                    write_member(&mut text, member)?;
                }
            }
        }
        Ok(text)
    }
}

fn separate(text: &mut String) {
    if !text.is_empty() {
        text.push_str(", ");
    }
}

fn write_member(text: &mut String, member: &Member) -> Written {
    match member {
        Member::Item(item) => write_item(text, item),
        Member::InnerList(list) => write_inner_list(text, list),
    }
}

fn write_inner_list(text: &mut String, list: &InnerList) -> Written {
    text.push('(');
    for (n, item) in list.items.iter().enumerate() {
        if n > 0 {
            text.push(' ');
        }
        write_item(text, item)?;
    }
    text.push(')');
    write_parameters(text, &list.parameters)
}

fn write_item(text: &mut String, item: &Item) -> Written {
    write_bare(text, &item.value)?;
    write_parameters(text, &item.parameters)
}

fn write_parameters(text: &mut String, parameters: &Parameters) -> Written {
    for (key, value) in parameters.iter() {
        text.push(';');
        write_key(text, key)?;
        if *value != BareItem::Boolean(true) {
            text.push('=');
            write_bare(text, value)?;
        }
    }
    Ok(())
}

fn write_key(text: &mut String, key: &str) -> Written {
    write_word(text, key, starts_key, continues_key, "a key in lower case")
}

fn write_bare(text: &mut String, value: &BareItem) -> Written {
    match value {
        BareItem::Integer(n) => text.push_str(&integer(*n)?),
        BareItem::Decimal(decimal) => text.push_str(&decimal.to_string()),
        BareItem::String(string) => write_string(text, string)?,
        BareItem::Token(token) => {
            write_word(text, token, starts_token, continues_token, "a token")?;
        }
        BareItem::Bytes(bytes) => text.push_str(&format!(":{}:", base64::encode(bytes))),
        BareItem::Boolean(yes) => text.push_str(if *yes { "?1" } else { "?0" }),
        BareItem::Date(seconds) => text.push_str(&format!("@{}", integer(*seconds)?)),
        BareItem::DisplayString(string) => write_display_string(text, string),
    }
    Ok(())
}

fn integer(n: i64) -> Result<String, StructuredError> {
    if n.unsigned_abs() > MAX_INTEGER {
        return Err(StructuredError::serialize("an integer of at most 15 digits"));
    }
    Ok(n.to_string())
}

fn write_string(text: &mut String, string: &str) -> Written {
    text.push('"');
    for byte in string.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => return Err(StructuredError::serialize("a string of printable ASCII")),
        }
    }
    text.push('"');
    Ok(())
}

fn write_display_string(text: &mut String, string: &str) {
    text.push_str("%\"");
    for byte in string.bytes() {
        match byte {
            b'%' | b'"' | 0..b' ' | 0x7f.. => {
                let _writing_to_a_string_never_fails = write!(text, "%{byte:02x}");
            }
            _ => text.push(char::from(byte)),
        }
    }
    text.push('"');
}

fn write_word(
    text: &mut String,
    word: &str,
    starts: impl Fn(u8) -> bool,
    continues: impl Fn(u8) -> bool,
    expected: &'static str,
) -> Written {
    if !word.bytes().next().is_some_and(starts) || !word.bytes().all(continues) {
        return Err(StructuredError::serialize(expected));
    }
    text.push_str(word);
    Ok(())
}
