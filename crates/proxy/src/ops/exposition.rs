//! The text format of Prometheus, version 0.0.4: families of samples, with labels escaped.

use std::fmt::{Display, Write};

/// The content type of the format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The kind of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FamilyKind {
    /// It only grows; its name ends with `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// A page of metrics under construction.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
    /// The family whose samples follow.
    family: &'static str,
}

impl Exposition {
    /// Begins the family of this name; `help` is one sentence.
    pub(super) fn family(&mut self, name: &'static str, kind: FamilyKind, help: &str) -> &mut Self {
        self.family = name;
        let kind = match kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
        };
        _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self
    }

    /// Adds a sample of the family.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.family);
        for (at, (name, value)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            _ = write!(self.text, "{open}{name}=\"{}\"", escaped(value));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        _ = writeln!(self.text, "{close} {value}");
    }

    /// The whole page.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_broke_out_of_its_quotes() {
        let mut page = Exposition::default();
        page.family("a_total", FamilyKind::Counter, "Things.").sample(&[("b", "x\"} 1\n\\")], 2);
        page.family("c", FamilyKind::Gauge, "More.").sample(&[], 0.5);
        let want = "# HELP a_total Things.\n# TYPE a_total counter\na_total{b=\"x\\\"} 1\\n\\\\\"} 2\n\
                    # HELP c More.\n# TYPE c gauge\nc 0.5\n";
        assert_eq!(page.into_text(), want);
    }
}
