//! Forms with files, as `multipart/form-data` (RFC 7578), whole in memory because every attempt sends the same bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use stagger_core::Entropy;

use super::data::bytes;
use crate::command_error::CommandError;

/// The type of a file whose type is not given.
const BYTES: &str = "application/octet-stream";

/// A body, and the header that tells where its parts end.
pub(super) struct Multipart {
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

/// One field: its content, and for uploads the name and the type of the file.
struct FormField {
    name: String,
    content: Vec<u8>,
    file: Option<String>,
    kind: Option<String>,
}

impl Multipart {
    /// The form of these fields; `entropy` draws a boundary that no field has in it.
    ///
    /// # Errors
    /// A field that is none, or a file that cannot be read.
    pub(super) fn of(
        fields: &[impl AsRef<OsStr>],
        entropy: &mut impl Entropy,
    ) -> Result<Self, CommandError> {
        let fields: Result<Vec<_>, _> =
            fields.iter().map(|field| FormField::of(field.as_ref())).collect();
        let fields = fields?;
        let boundary = loop {
            let boundary =
                format!("stagger-{:016x}{:016x}", entropy.next_u64(), entropy.next_u64());
            let is_in = |field: &FormField| {
                field.content.windows(boundary.len()).any(|part| part == boundary.as_bytes())
            };
            if !fields.iter().any(is_in) {
                break boundary;
            }
        };
        let mut body = Vec::new();
        for field in &fields {
            body.extend(format!("--{boundary}\r\n{}\r\n", field.head()).into_bytes());
            body.extend_from_slice(&field.content);
            body.extend(b"\r\n");
        }
        body.extend(format!("--{boundary}--\r\n").into_bytes());
        Ok(Self { content_type: format!("multipart/form-data; boundary={boundary}"), body })
    }
}

impl FormField {
    fn of(text: &OsStr) -> Result<Self, CommandError> {
        let shown = text.display().to_string();
        let refused =
            || CommandError::invalid("--form", &shown, "NAME=TEXT, NAME=@FILE or NAME=<FILE");
        let line = text.as_bytes();
        let equals = line.iter().position(|byte| *byte == b'=').ok_or_else(refused)?;
        let name = std::str::from_utf8(&line[..equals]).ok().filter(|name| !name.is_empty());
        let name = name.ok_or_else(refused)?.to_owned();
        let mut value = &line[equals + 1..];
        let kind = option(&mut value, b";type=");
        let named = option(&mut value, b";filename=");
        // The order of the options is free.
        let kind = kind.or_else(|| option(&mut value, b";type="));
        let (file, content) = match value.first() {
            Some(b'@') => (base_name(&value[1..]), bytes("--form", OsStr::from_bytes(value))?),
            Some(b'<') => {
                let file = [b"@", &value[1..]].concat();
                (None, bytes("--form", OsStr::from_bytes(&file))?)
            }
            _ => (None, value.to_vec()),
        };
        let kind = kind.or_else(|| file.as_ref().map(|_| BYTES.to_owned()));
        if [&kind, &named].into_iter().flatten().any(|text| text.contains(['\r', '\n'])) {
            return Err(refused());
        }
        Ok(Self { name, content, file: named.or(file), kind })
    }

    fn head(&self) -> String {
        let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(&self.name));
        if let Some(file) = &self.file {
            head += &format!("; filename=\"{}\"", quoted(file));
        }
        if let Some(kind) = &self.kind {
            head += &format!("\r\nContent-Type: {kind}");
        }
        head + "\r\n"
    }
}

/// Takes the last option of this name off a value.
fn option(value: &mut &[u8], name: &[u8]) -> Option<String> {
    let at = value.windows(name.len()).rposition(|part| part == name)?;
    let text = std::str::from_utf8(&value[at + name.len()..]).ok()?;
    // What follows is an option of another name, which has to be taken first.
    if text.contains(";filename=") || text.contains(";type=") {
        return None;
    }
    *value = &value[..at];
    Some(text.trim_matches('"').to_owned())
}

fn base_name(path: &[u8]) -> Option<String> {
    let name = Path::new(OsStr::from_bytes(path)).file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// A name within quotes, as browsers escape it (WHATWG HTML, "multipart form data").
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(fields: &[&str]) -> String {
        let mut words = 0..;
        let mut entropy = || words.next().unwrap_or(0);
        let form = Multipart::of(fields, &mut entropy).unwrap();
        let boundary = form.content_type.split("boundary=").nth(1).unwrap();
        String::from_utf8(form.body).unwrap().replace(boundary, "B")
    }

    #[test]
    fn options_of_a_field_became_part_of_its_text() {
        let part = |head: &str, text: &str| {
            format!("--B\r\nContent-Disposition: form-data; {head}\r\n\r\n{text}\r\n--B--\r\n")
        };
        assert_eq!(form(&["a=b=c"]), part("name=\"a\"", "b=c"));
        let typed = part("name=\"a\"\r\nContent-Type: text/csv", "b;c");
        assert_eq!(form(&["a=b;c;type=text/csv"]), typed);
        let named = part("name=\"a\"; filename=\"x\"\r\nContent-Type: t/y", "b");
        assert_eq!(form(&["a=b;type=t/y;filename=x"]), named);
        assert_eq!(form(&["a=b;filename=x;type=t/y"]), named);
        assert_eq!(form(&["a\"b=c"]), part("name=\"a%22b\"", "c"));
    }

    #[test]
    fn a_field_ended_at_a_boundary_in_its_own_text() {
        let boundary = format!("stagger-{:016x}{:016x}", 0, 1);
        let mut words = 0..;
        let mut entropy = || words.next().unwrap_or(0);
        let form = Multipart::of(&[format!("a=x--{boundary}--")], &mut entropy).unwrap();
        assert!(!form.content_type.contains(&boundary), "{}", form.content_type);
    }
}
