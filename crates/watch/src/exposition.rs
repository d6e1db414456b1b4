//! The text format of Prometheus, version 0.0.4, as far as counters need it.
//!
//! Source: Prometheus documentation, "Exposition formats", text-based format. Strict: a line that is
//! no sample and no comment is an error with its number, because half a page of counters would be
//! read as counters that fell.

use std::error::Error;
use std::fmt;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The name of the metric.
    pub name: String,
    /// Labels and values, in the order of the page.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

/// A line of a page that is no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpositionError {
    /// Its number, from 1.
    pub line: usize,
    /// The flaw.
    pub why: &'static str,
}

impl fmt::Display for ExpositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl Error for ExpositionError {}

/// The samples of a page whose names are `wanted`, in order.
///
/// ```
/// use stagger_watch::parse_exposition;
/// let page = "# TYPE calls counter\ncalls{path=\"/a \\\"b\\\"\",code=\"200\"} 1027 1395066363000\nother 3\n";
/// let samples = parse_exposition(page, |name| name == "calls")?;
/// assert_eq!(samples.len(), 1);
/// assert_eq!(samples[0].labels[0], ("path".to_owned(), "/a \"b\"".to_owned()));
/// assert_eq!(samples[0].value, 1027.0);
/// assert_eq!(parse_exposition("calls 1\ncalls x\n", |_| true).unwrap_err().line, 2);
/// # Ok::<(), stagger_watch::ExpositionError>(())
/// ```
///
/// # Errors
/// The first line that is neither a sample nor a comment.
pub fn parse_exposition(
    page: &str,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Sample>, ExpositionError> {
    let mut samples = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        let line = line.trim_matches([' ', '\t', '\r']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let sample = sample(line).map_err(|why| ExpositionError { line: number, why })?;
        if wanted(&sample.name) {
            samples.push(sample);
        }
    }
    Ok(samples)
}

fn sample(line: &str) -> Result<Sample, &'static str> {
    let end = line.find(|c: char| !is_of_name(c)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("no name of a metric");
    }
    let rest = rest.trim_start_matches([' ', '\t']);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None if end == line.len() => return Err("no value"),
        None => (Vec::new(), rest),
    };
    let mut words = rest.split([' ', '\t']).filter(|word| !word.is_empty());
    let value = words.next().ok_or("no value")?;
    let value = value.parse().map_err(|_| "no such value")?;
    if words.next().is_some_and(|stamp| stamp.parse::<i64>().is_err()) || words.next().is_some() {
        return Err("more than a value and a time");
    }
    Ok(Sample { name: name.to_owned(), labels, value })
}

type Labels = Vec<(String, String)>;

/// The labels up to the closing brace, and the rest of the line.
fn labels(mut rest: &str) -> Result<(Labels, &str), &'static str> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (name, after) = rest.split_once('=').ok_or("no end of the labels")?;
        let after = after.trim_start_matches([' ', '\t']).strip_prefix('"');
        let (value, after) = quoted(after.ok_or("no quoted value of a label")?)?;
        labels.push((name.trim_matches([' ', '\t']).to_owned(), value));
        rest = after.trim_start_matches([' ', '\t']);
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest,
            None if rest.starts_with('}') => rest,
            None => return Err("no comma between labels"),
        };
    }
}

/// The text up to the closing quote, and the rest of the line.
fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match (escaped, c) {
            (false, '\\') => escaped = true,
            (false, '"') => return Ok((value, &text[at + 1..])),
            (true, 'n') => (escaped, _) = (false, value.push('\n')),
            (_, c) => (escaped, _) = (false, value.push(c)),
        }
    }
    Err("no end of a quoted value")
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format's own page.
    const PAGE: &str = r#"
# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

http_request_duration_seconds_bucket{le="0.05"} 24054
http_request_duration_seconds_bucket{le="+Inf"} 144320
http_request_duration_seconds_sum 53423
http_request_duration_seconds_count 144320
rpc_duration_seconds{quantile="0.5", } 4773
"#;

    #[test]
    fn the_example_of_the_format_is_read() {
        let samples = parse_exposition(PAGE, |_| true).unwrap();
        assert_eq!(samples.len(), 10);
        assert_eq!(samples[2].labels[0].1, "C:\\DIR\\FILE.TXT");
        assert_eq!(samples[2].labels[1].1, "Cannot find file:\n\"FILE.TXT\"");
        assert!(samples[4].value.is_infinite());
        assert_eq!(samples[9].labels, [("quantile".to_owned(), "0.5".to_owned())]);
    }

    #[test]
    fn what_is_no_sample_is_refused_with_its_line() {
        for (line, why) in [
            ("calls", "no value"),
            ("1calls 2", "no name of a metric"),
            ("calls two", "no such value"),
            ("calls 1 2 3", "more than a value and a time"),
            ("calls{a=\"b\" 1", "no comma between labels"),
            ("calls{a=b} 1", "no quoted value of a label"),
            ("calls{a=\"b} 1", "no end of a quoted value"),
            ("calls{a} 1", "no end of the labels"),
            ("<html>", "no name of a metric"),
        ] {
            assert_eq!(
                parse_exposition(line, |_| true).map_err(|error| error.why),
                Err(why),
                "{line}"
            );
        }
    }
}
