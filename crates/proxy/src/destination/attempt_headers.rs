//! The headers that each attempt is given, with values from files that are read again when they change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::file_stamp::FileStamp;
use crate::config::{HeaderSource, HeaderValueSource, SettingsFault, secret_text};

/// The headers of a route's attempts.
#[derive(Debug, Default)]
pub(crate) struct AttemptHeaderSet {
    headers: Vec<AttemptHeader>,
}

#[derive(Debug)]
struct AttemptHeader {
    name: HeaderName,
    value: AttemptValue,
}

#[derive(Debug)]
enum AttemptValue {
    Fixed(HeaderValue),
    File(Box<WatchedFile>),
}

/// A file with the value that it had when it was read last.
#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    prefix: String,
    read: Mutex<FileValue>,
}

#[derive(Debug)]
struct FileValue {
    stamp: FileStamp,
    value: HeaderValue,
}

impl AttemptHeaderSet {
    /// The headers of a route, with the values that they have now.
    ///
    /// # Errors
    /// A file or a variable that cannot be read, or a value that no header may have. The value is not shown.
    pub(crate) fn new(route: &str, sources: &[HeaderSource]) -> Result<Self, SettingsFault> {
        let header = |source: &HeaderSource| {
            let value = AttemptValue::read(source).map_err(|why| {
                SettingsFault::new(format!("route.{route}.headers.{}: {why}", source.name))
            })?;
            Ok(AttemptHeader { name: source.name.clone(), value })
        };
        Ok(Self { headers: sources.iter().map(header).collect::<Result<_, _>>()? })
    }

    /// Writes the headers in the place of those that the caller sent.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        for AttemptHeader { name, value } in &self.headers {
            let value = match value {
                AttemptValue::Fixed(value) => value.clone(),
                AttemptValue::File(file) => file.current(name),
            };
            headers.insert(name, value);
        }
    }
}

impl AttemptValue {
    fn read(source: &HeaderSource) -> Result<Self, String> {
        let prefix = source.prefix.as_str();
        match &source.source {
            HeaderValueSource::Value(text) => secret(prefix, text).map(Self::Fixed),
            HeaderValueSource::Variable(name) => match std::env::var(name) {
                Ok(text) => secret(prefix, text.trim()).map(Self::Fixed),
                Err(error) => Err(format!("environment variable {name}: {error}")),
            },
            HeaderValueSource::File(path) => {
                let read = Mutex::new(read(path, prefix)?);
                let file = WatchedFile { path: path.clone(), prefix: prefix.to_owned(), read };
                Ok(Self::File(Box::new(file)))
            }
        }
    }
}

impl WatchedFile {
    /// The value of the file as it is now; the last good one while it cannot be read. One `stat` an attempt costs
    /// far less than the attempt.
    fn current(&self, name: &HeaderName) -> HeaderValue {
        let mut last = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if FileStamp::at(&self.path) != Some(last.stamp) {
            match read(&self.path, &self.prefix) {
                Ok(value) => {
                    tracing::info!(header = %name, file = %self.path.display(), "header file read again");
                    *last = value;
                }
                Err(error) => {
                    tracing::warn!(header = %name, %error, "header file not read, last value kept");
                }
            }
        }
        last.value.clone()
    }
}

fn read(path: &Path, prefix: &str) -> Result<FileValue, String> {
    let shown = path.display();
    let fault = |error: std::io::Error| format!("{shown}: {error}");
    let file = fs::File::open(path).map_err(fault)?;
    let stamp = FileStamp::of(&file.metadata().map_err(fault)?);
    let told = |why: String| format!("{shown}: {why}");
    let value = secret_text(&file).and_then(|text| secret(prefix, &text)).map_err(told)?;
    Ok(FileValue { stamp, value })
}

/// A value that no log shows, and that HPACK does not index.
fn secret(prefix: &str, text: &str) -> Result<HeaderValue, String> {
    let value = HeaderValue::try_from(format!("{prefix}{text}"));
    let mut value =
        value.map_err(|_| "the value must be one line of visible characters".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_after_the_token_changed_carried_the_old_one() {
        let path = std::env::temp_dir().join(format!("stagger-proxy-token-{}", std::process::id()));
        fs::write(&path, "first\n").unwrap();
        let source = HeaderSource {
            name: HeaderName::from_static("authorization"),
            prefix: "Bearer ".into(),
            source: HeaderValueSource::File(path.clone()),
        };
        let set = AttemptHeaderSet::new("a", &[source]).unwrap();
        let mut headers = HeaderMap::new();
        set.write(&mut headers);
        assert_eq!(headers["authorization"], "Bearer first");
        assert!(!format!("{headers:?} {set:?}").contains("first"), "no log shows the value");
        fs::write(&path, "second one").unwrap();
        set.write(&mut headers);
        assert_eq!(headers["authorization"], "Bearer second one");
        fs::remove_file(&path).unwrap();
        set.write(&mut headers);
        assert_eq!(headers["authorization"], "Bearer second one", "the last good value stays");
        assert_eq!(headers.len(), 1);
    }
}
