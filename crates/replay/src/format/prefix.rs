//! Texts that collectors put before the lines of a log: Docker, Kubernetes, Compose and syslog.

use std::borrow::Cow;

use super::scan::{field, token};
use crate::stamp::{Stamp, text};

/// A writer that puts its own text around each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePrefix {
    /// An object around the line: Docker's `json-file` driver.
    DockerJson,
    /// RFC 3164 and RFC 5424, also with the time of RFC 3339 as rsyslog writes it.
    Syslog,
    /// A time of RFC 3339: `docker logs --timestamps`, and `stdout F` behind it in Kubernetes.
    Time,
    /// A service and a bar: `docker compose logs`.
    Compose,
}

/// The months of RFC 3164.
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

impl LinePrefix {
    /// All of them; syslog before the bare time, which it may begin with.
    pub(super) const ALL: [Self; 4] = [Self::DockerJson, Self::Syslog, Self::Time, Self::Compose];

    /// The prefixes that a line may have: the known one, or any.
    pub(super) fn candidates(known: Option<Self>) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |prefix| known.is_none_or(|known| known == *prefix))
    }

    /// The line without the prefix; `None` if it does not have this one.
    pub(super) fn strip(self, line: &[u8]) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::DockerJson => docker_json(line),
            Self::Syslog => syslog(line).map(Cow::Borrowed),
            Self::Time => time(line).map(Cow::Borrowed),
            Self::Compose => compose(line).map(Cow::Borrowed),
        }
    }
}

/// An object of Docker's driver: `{"log":"...\n","stream":"stdout","time":"..."}`.
#[derive(serde::Deserialize)]
struct DockerLine {
    log: String,
    #[serde(rename = "stream")]
    _stream: String,
}

fn docker_json(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !line.starts_with(b"{\"log\":") {
        return None;
    }
    let object: DockerLine = serde_json::from_slice(line).ok()?;
    let mut log = object.log.into_bytes();
    log.truncate(log.trim_ascii_end().len());
    Some(Cow::Owned(log))
}

fn time(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    is_iso(token(&mut rest)).then_some(())?;
    let mut ahead = rest;
    let stream = field(&mut ahead);
    let tag = field(&mut ahead);
    let is_kubernetes =
        matches!(stream, Some(b"stdout" | b"stderr")) && matches!(tag, Some(b"F" | b"P"));
    Some(without_space(if is_kubernetes { ahead } else { rest }))
}

fn compose(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    let service = token(&mut rest);
    let rest = rest.trim_ascii_start().strip_prefix(b"| ")?;
    (!service.is_empty()).then_some(rest)
}

fn syslog(line: &[u8]) -> Option<&[u8]> {
    let after_priority = priority(line);
    let mut rest = after_priority.unwrap_or(line);
    if let (Some(_), Some(new)) = (after_priority, rest.strip_prefix(b"1 ")) {
        return structured(new);
    }
    if MONTHS.iter().any(|month| rest.starts_with(month)) {
        (0..3).try_for_each(|_| field(&mut rest).map(drop))?; // month, day, time
    } else {
        is_iso(token(&mut rest)).then_some(())?;
    }
    field(&mut rest)?; // the host
    field(&mut rest)?.strip_suffix(b":")?;
    Some(without_space(rest))
}

/// Behind `<PRI>1 ` of RFC 5424: time, host, application, process, message id, structured data.
fn structured(mut rest: &[u8]) -> Option<&[u8]> {
    (0..5).try_for_each(|_| field(&mut rest).map(drop))?;
    let mut data = rest.trim_ascii_start();
    if let Some(after) = data.strip_prefix(b"-") {
        return Some(without_space(after));
    }
    while data.starts_with(b"[") {
        data = super::scan::bracketed(data)?.1;
    }
    Some(without_space(data))
}

/// The text behind `<PRI>`.
fn priority(line: &[u8]) -> Option<&[u8]> {
    let inner = line.strip_prefix(b"<")?;
    let end = inner.iter().take(4).position(|&byte| byte == b'>')?;
    inner[..end].iter().all(u8::is_ascii_digit).then(|| &inner[end + 1..])
}

fn is_iso(word: &[u8]) -> bool {
    word.get(10) == Some(&b'T') && text(word).and_then(Stamp::iso).is_some()
}

fn without_space(rest: &[u8]) -> &[u8] {
    rest.strip_prefix(b" ").unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5"#;

    fn stripped(line: &str) -> Vec<(LinePrefix, String)> {
        let strip = |prefix: LinePrefix| {
            let text = prefix.strip(line.as_bytes())?;
            Some((prefix, String::from_utf8(text.into_owned()).unwrap()))
        };
        LinePrefix::ALL.into_iter().filter_map(strip).collect()
    }

    #[test]
    fn each_collector_is_known_by_its_prefix() {
        for (prefix, before) in [
            (LinePrefix::Time, "2016-10-06T00:17:09.669794202Z "),
            (LinePrefix::Time, "2016-10-06T00:17:09.669794202Z stdout F "),
            (LinePrefix::Compose, "nginx-1  | "),
            (LinePrefix::Syslog, "<190>Feb  6 12:14:14 web1 nginx: "),
            (LinePrefix::Syslog, "Feb 16 12:14:14 localhost haproxy[14389]: "),
            (LinePrefix::Syslog, "2003-10-11T22:14:15.003+02:00 web1 nginx[7]: "),
            (LinePrefix::Syslog, "<34>1 2003-10-11T22:14:15.003Z web1 nginx - ID47 - "),
            (LinePrefix::Syslog, "<34>1 2003-10-11T22:14:15.003Z web1 nginx 7 ID47 [a@1 b=\"c\"] "),
        ] {
            let all = stripped(&format!("{before}{LINE}"));
            assert_eq!(all.first(), Some(&(prefix, LINE.to_owned())), "{before}");
        }
        let docker = format!(
            "{{\"log\":\"{}\\n\",\"stream\":\"stdout\",\"time\":\"2016-10-06T00:17:09.669794202Z\"}}",
            LINE.replace('"', "\\\"")
        );
        assert_eq!(stripped(&docker), [(LinePrefix::DockerJson, LINE.to_owned())]);
    }

    #[test]
    fn a_line_without_a_prefix_has_none() {
        for line in [LINE, "", "<x>", "{\"log\":1}", "2016-10-06T00:17:09Z,200", "a|b", "| "] {
            assert_eq!(stripped(line), [], "{line}");
        }
    }
}
