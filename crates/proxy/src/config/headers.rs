//! Headers that each attempt is given: where their values come from.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use http::HeaderName;
use stagger_text::settings::{Flaw, Reader, Value, refused};
use toml::de::DeValue;

/// The headers that the proxy writes or removes itself, so that no setting may. `stagger import` leaves out the same.
pub const OWN_HEADERS: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "stagger-attempt",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The most bytes of a file with a secret: certificates in headers need some, tokens and URLs a tenth.
const MAX_SECRET: u64 = 16 << 10;

/// The text of a file with a secret, without the white space at its ends. The text is no part of an error.
pub(crate) fn secret_text(file: &File) -> Result<String, String> {
    let mut text = String::new();
    let read = file.take(MAX_SECRET + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.trim().is_empty() || text.len() as u64 > MAX_SECRET {
        return Err(format!("must hold from 1 to {MAX_SECRET} bytes"));
    }
    Ok(text.trim().to_owned())
}

/// A header that is set on every attempt, in place of what the caller sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderSource {
    /// Its name.
    pub name: HeaderName,
    /// The text before the value, such as `Bearer `.
    pub prefix: String,
    /// The place of the value.
    pub source: HeaderValueSource,
}

/// The place of a header's value.
#[derive(Clone, PartialEq, Eq)]
pub enum HeaderValueSource {
    /// The text of a file without the white space at its ends, read again when the file has changed.
    File(PathBuf),
    /// The value of an environment variable, read when the settings are.
    Variable(String),
    /// The value itself.
    Value(String),
}

/// Without the value, which may be a secret.
impl fmt::Debug for HeaderValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
            Self::Value(_) => f.write_str("Value(hidden)"),
        }
    }
}

impl HeaderSource {
    /// Reads `[route.NAME.headers]`: names of headers, each with a table, or with its value.
    pub(super) fn read_all(table: &Reader<'_, '_>, folder: &Path) -> Result<Vec<Self>, Flaw> {
        table.names().map(|(name, value)| Self::read(table, (name, value), folder)).collect()
    }

    fn read(
        table: &Reader<'_, '_>,
        (name, value): (&str, &Value<'_>),
        folder: &Path,
    ) -> Result<Self, Flaw> {
        let key = table.name(name);
        let lower = name.to_ascii_lowercase();
        let header = HeaderName::from_bytes(lower.as_bytes());
        let header = header.map_err(|_| refused(&key, value, "under the name of a header"))?;
        if OWN_HEADERS.contains(&header.as_str()) {
            return Err(Flaw::new(
                value.span(),
                format!("{key}: is a header that the proxy writes itself"),
            ));
        }
        let (prefix, source) = match value.get_ref() {
            DeValue::String(text) => (String::new(), HeaderValueSource::Value(text.to_string())),
            DeValue::Table(inner) => {
                source(&Reader::new(key.clone(), value.span(), inner), folder)?
            }
            _ => return Err(refused(&key, value, "text, or a table with file or env")),
        };
        Ok(Self { name: header, prefix, source })
    }
}

fn source(table: &Reader<'_, '_>, folder: &Path) -> Result<(String, HeaderValueSource), Flaw> {
    let prefix = table.text("prefix")?.unwrap_or_default().to_owned();
    let file = table.text("file")?.map(|file| HeaderValueSource::File(folder.join(file)));
    let variable = table.text("env")?.map(|name| HeaderValueSource::Variable(name.to_owned()));
    let value = table.text("value")?.map(|value| HeaderValueSource::Value(value.to_owned()));
    table.done()?;
    let mut given = [file, variable, value].into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(source), None) => Ok((prefix, source)),
        _ => Err(table.flaw("must have one of file, env and value")),
    }
}
