//! The metrics of this process as numbers: read from the text that `/metrics` shows, so that both have the same.

/// A metric with all its series.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MetricFamily {
    pub(super) name: String,
    pub(super) help: String,
    pub(super) kind: FamilyKind,
    pub(super) samples: Vec<Sample>,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FamilyKind {
    Counter,
    #[default]
    Gauge,
    Histogram,
}

/// A line with a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    /// The name of the line behind that of its metric: `_bucket`, `_sum`, `_count`, or nothing.
    pub(super) part: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) value: f64,
}

/// Reads the text format of Prometheus, version 0.0.4, as the recorder of this process writes it. Other lines are left
/// out.
pub(super) fn families(text: &str) -> Vec<MetricFamily> {
    let mut families: Vec<MetricFamily> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            family(&mut families, name).help = help.to_owned();
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            family(&mut families, name).kind = match kind {
                "counter" => FamilyKind::Counter,
                "histogram" => FamilyKind::Histogram,
                _ => FamilyKind::Gauge,
            };
        } else if let Some((name, labels, value)) = sample(line)
            && let Some(last) = families.last_mut()
            && let Some(part) = name.strip_prefix(last.name.as_str())
        {
            last.samples.push(Sample { part: part.to_owned(), labels, value });
        }
    }
    families
}

/// The family of this name, which is the last one if its lines have begun.
fn family<'f>(families: &'f mut Vec<MetricFamily>, name: &str) -> &'f mut MetricFamily {
    if families.last().is_none_or(|last| last.name != name) {
        families.push(MetricFamily { name: name.to_owned(), ..MetricFamily::default() });
    }
    let last = families.len() - 1;
    &mut families[last]
}

type Line<'l> = (&'l str, Vec<(String, String)>, f64);

fn sample(line: &str) -> Option<Line<'_>> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, value) = match rest.strip_prefix('{') {
        None => (Vec::new(), rest),
        Some(inner) => labels(inner)?,
    };
    let value = value.trim();
    Some((name, labels, value.parse().ok()?))
}

/// The labels up to the closing brace, and the rest of the line.
fn labels(mut text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut found = Vec::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Some((found, rest));
        }
        let (name, rest) = text.split_once("=\"")?;
        let (value, rest) = quoted(rest)?;
        found.push((name.to_owned(), value));
        text = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// A value up to its closing quote, without escapes, and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_with_its_labels_and_kinds() {
        let text = "# HELP a_total Some of them\n# TYPE a_total counter\n\
                    a_total{x=\"1\",y=\"a\\\"b\\\\c,}\"} 7\na_total 1e3\n\n\
                    # TYPE b_seconds histogram\nb_seconds_bucket{le=\"+Inf\"} 2\nb_seconds_sum 0.5\n\
                    b_seconds_count 2\nunknown 5\n# TYPE c gauge\nc -1\nc{broken 2\n";
        let read = families(text);
        let names: Vec<_> = read.iter().map(|it| (it.name.as_str(), it.kind)).collect();
        let kinds = [FamilyKind::Counter, FamilyKind::Histogram, FamilyKind::Gauge];
        assert_eq!(names, [("a_total", kinds[0]), ("b_seconds", kinds[1]), ("c", kinds[2])]);
        assert_eq!(read[0].help, "Some of them");
        let labels = [("x".to_owned(), "1".to_owned()), ("y".to_owned(), "a\"b\\c,}".to_owned())];
        assert_eq!(read[0].samples[0].labels, labels);
        assert_eq!((read[0].samples[1].value, read[2].samples[0].value), (1000.0, -1.0));
        let parts: Vec<_> = read[1].samples.iter().map(|it| it.part.as_str()).collect();
        assert_eq!(parts, ["_bucket", "_sum", "_count"]);
        assert_eq!(read[2].samples.len(), 1);
    }
}
