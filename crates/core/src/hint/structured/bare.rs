//! Text to bare items (RFC 9651 sections 4.2.3.1 to 4.2.10).

use alloc::string::String;
use alloc::vec::Vec;

use super::parse::{Cursor, StructuredResult};
use super::{BareItem, Decimal, base64};

/// Digits of the longest integer.
const MAX_INTEGER_DIGITS: usize = 15;
/// Digits of the longest whole part of a decimal.
const MAX_WHOLE_DIGITS: usize = 12;

impl<'t> Cursor<'t> {
    /// A value; its first byte tells the type.
    pub(super) fn bare_item(&mut self) -> StructuredResult<BareItem> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'"') => self.string().map(BareItem::String),
            Some(byte) if starts_token(byte) => Ok(BareItem::Token(self.token())),
            Some(b':') => self.bytes().map(BareItem::Bytes),
            Some(b'?') => self.boolean().map(BareItem::Boolean),
            Some(b'@') => self.date(),
            Some(b'%') => self.display_string().map(BareItem::DisplayString),
            _ => self.fail("a value"),
        }
    }

    fn number(&mut self) -> StructuredResult<BareItem> {
        let sign = if self.eat(b'-') { -1 } else { 1 };
        let whole = self.digits(MAX_INTEGER_DIGITS)?;
        if !self.eat(b'.') {
            return Ok(BareItem::Integer(sign * decimal_value(whole)));
        }
        if whole.len() > MAX_WHOLE_DIGITS {
            return self.fail("at most 12 digits before the point");
        }
        let fraction = self.digits(3)?;
        let places = u32::try_from(fraction.len()).unwrap_or(3);
        let scaled = decimal_value(whole) * 10_i64.pow(places) + decimal_value(fraction);
        match Decimal::from_scaled(sign * scaled, places) {
            Some(decimal) => Ok(BareItem::Decimal(decimal)),
            None => self.fail("at most 12 digits before the point"),
        }
    }

    /// One to `most` digits.
    fn digits(&mut self, most: usize) -> StructuredResult<&'t [u8]> {
        let digits = self.take_while(|b| b.is_ascii_digit());
        match digits.len() {
            0 => self.fail("a digit"),
            n if n > most => self.fail("fewer digits"),
            _ => Ok(digits),
        }
    }

    fn string(&mut self) -> StructuredResult<String> {
        self.eat(b'"');
        let mut text = String::new();
        loop {
            match self.next() {
                Some(b'"') => return Ok(text),
                Some(b'\\') => match self.next() {
                    Some(byte @ (b'"' | b'\\')) => text.push(char::from(byte)),
                    _ => return self.fail("a quote or a backslash after the backslash"),
                },
                Some(byte @ b' '..=b'~') => text.push(char::from(byte)),
                Some(_) => return self.fail("printable ASCII"),
                None => return self.fail("the closing quote"),
            }
        }
    }

    fn token(&mut self) -> String {
        self.take_while(continues_token).iter().map(|&b| char::from(b)).collect()
    }

    fn bytes(&mut self) -> StructuredResult<Vec<u8>> {
        self.eat(b':');
        let text = self.take_while(|b| b != b':');
        if !self.eat(b':') {
            return self.fail("the closing colon");
        }
        match base64::decode(text) {
            Some(bytes) => Ok(bytes),
            None => self.fail("base64 between the colons"),
        }
    }

    fn boolean(&mut self) -> StructuredResult<bool> {
        self.eat(b'?');
        match self.next() {
            Some(b'0') => Ok(false),
            Some(b'1') => Ok(true),
            _ => self.fail("?0 or ?1"),
        }
    }

    fn date(&mut self) -> StructuredResult<BareItem> {
        self.eat(b'@');
        match self.number()? {
            BareItem::Integer(seconds) => Ok(BareItem::Date(seconds)),
            _ => self.fail("whole seconds"),
        }
    }

    fn display_string(&mut self) -> StructuredResult<String> {
        self.eat(b'%');
        if !self.eat(b'"') {
            return self.fail("a quote after the percent sign");
        }
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                Some(b'"') => break,
                Some(b'%') => bytes.push(self.hex_digit()? << 4 | self.hex_digit()?),
                Some(byte @ b' '..=b'~') => bytes.push(byte),
                Some(_) => return self.fail("printable ASCII"),
                None => return self.fail("the closing quote"),
            }
        }
        String::from_utf8(bytes).or_else(|_| self.fail("UTF-8 behind the percent signs"))
    }

    /// A hexadecimal digit in lower case, the only one allowed here.
    fn hex_digit(&mut self) -> StructuredResult<u8> {
        match self.next() {
            Some(byte @ b'0'..=b'9') => Ok(byte - b'0'),
            Some(byte @ b'a'..=b'f') => Ok(byte - b'a' + 10),
            _ => self.fail("two hexadecimal digits in lower case"),
        }
    }
}

/// Whether a token may begin with this byte.
pub(super) fn starts_token(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'*'
}

/// Whether a token may go on with this byte: tchar of RFC 9110 section 5.6.2, `:` and `/`.
pub(super) fn continues_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}

/// The value of at most 15 digits.
fn decimal_value(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |sum, &b| sum * 10 + i64::from(b - b'0'))
}
