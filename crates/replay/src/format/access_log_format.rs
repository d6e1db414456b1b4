//! The formats of access logs by name.

/// A format of access logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessLogFormat {
    /// The common and the combined format of nginx and Apache.
    Combined,
    /// JSON lines with the names of Envoy's operators.
    Envoy,
    /// The default text of Envoy and of Istio.
    EnvoyText,
    /// Application and classic load balancers of AWS.
    Alb,
    /// The extended format of the W3C, as IIS and CloudFront write it.
    W3c,
    /// HAProxy's HTTP log.
    HaProxy,
    /// uWSGI's request log.
    Uwsgi,
    /// Caddy's JSON lines.
    Caddy,
    /// CSV with a header.
    Csv,
    /// JSON lines with other names.
    JsonLines,
}

impl AccessLogFormat {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Combined,
        Self::Envoy,
        Self::EnvoyText,
        Self::Alb,
        Self::W3c,
        Self::HaProxy,
        Self::Uwsgi,
        Self::Caddy,
        Self::Csv,
        Self::JsonLines,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Envoy => "envoy",
            Self::EnvoyText => "envoy-text",
            Self::Alb => "alb",
            Self::W3c => "w3c",
            Self::HaProxy => "haproxy",
            Self::Uwsgi => "uwsgi",
            Self::Caddy => "caddy",
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
