//! The product that the settings of a text are of.

use std::fmt;
use std::str::FromStr;

use crate::ImportError;

/// A product whose settings are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportSource {
    /// A gRPC service config (gRFC A6), in JSON.
    Grpc,
    /// Envoy's `RouteAction` or `RetryPolicy` with the `circuit_breakers` of a cluster, in YAML or JSON.
    Envoy,
    /// resilience4j for Spring Boot: `application.yml`, `.properties` or the same in JSON.
    Resilience4j,
    /// Polly 8 strategies or `Microsoft.Extensions.Http.Resilience`, as in `appsettings.json`.
    Polly,
}

impl ImportSource {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Grpc, Self::Envoy, Self::Resilience4j, Self::Polly];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Envoy => "envoy",
            Self::Resilience4j => "resilience4j",
            Self::Polly => "polly",
        }
    }

    /// Keys that only this product has, without case, `-` and `_`.
    pub(crate) const fn own_keys(self) -> &'static [&'static str] {
        match self {
            Self::Grpc => &["methodconfig", "retrythrottling"],
            Self::Envoy => &["retrypolicy", "retryon", "numretries", "retrybackoff", "retrybudget"],
            Self::Resilience4j => &["resilience4j"],
            Self::Polly => &[
                "maxretryattempts",
                "attempttimeout",
                "totalrequesttimeout",
                "backofftype",
                "failureratio",
            ],
        }
    }
}

impl fmt::Display for ImportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ImportSource {
    type Err = ImportError;

    fn from_str(name: &str) -> Result<Self, ImportError> {
        let all = Self::ALL.map(Self::name).join(", ");
        let known = Self::ALL.into_iter().find(|source| source.name() == name);
        known.ok_or_else(|| ImportError::new("from", name, format!("one of {all}")))
    }
}
