//! The formats of access logs, and their names.

/// A format of access logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessLogFormat {
    /// The common and the combined format of nginx and Apache.
    Combined,
    /// JSON lines with the names of Envoy's operators.
    Envoy,
    /// CSV with a header.
    Csv,
    /// JSON lines with other names.
    JsonLines,
}

impl AccessLogFormat {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Combined, Self::Envoy, Self::Csv, Self::JsonLines];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Envoy => "envoy",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl std::fmt::Display for AccessLogFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
