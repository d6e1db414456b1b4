//! Lists of status codes, each a name in any case or a number.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use crate::classify::{Code, CodeSet, UnknownCode};
use crate::error::ConfigError;

/// A code as it stands in the list, known or not.
pub(super) enum CodeText {
    Name(String),
    Number(i64),
}

/// Reads a list, whose every member must be a code.
pub(super) fn code_set(field: &'static str, list: &[CodeText]) -> Result<CodeSet, ConfigError> {
    let refuse = |value: String| ConfigError::new(field, value, alloc::format!("{UnknownCode}"));
    let codes = list.iter().map(|text| match text {
        CodeText::Name(name) => name.parse().map_err(|_| refuse(alloc::format!("{name:?}"))),
        CodeText::Number(number) => u64::try_from(*number)
            .ok()
            .and_then(Code::from_number)
            .ok_or_else(|| refuse(alloc::format!("{number}"))),
    });
    codes.collect()
}

/// A missing list reads as an empty one.
pub(super) type CodeList = Vec<CodeText>;

impl<'de> Deserialize<'de> for CodeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CodeVisitor)
    }
}

struct CodeVisitor;

impl Visitor<'_> for CodeVisitor {
    type Value = CodeText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{UnknownCode}")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<CodeText, E> {
        Ok(CodeText::Name(name.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<CodeText, E> {
        Ok(CodeText::Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<CodeText, E> {
        let number = i64::try_from(number)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
        self.visit_i64(number)
    }
}
