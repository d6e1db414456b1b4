//! The product that the settings of a text are of.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::table::plain;
use crate::tree::tree;
use crate::{ImportError, Imported, envoy, grpc, polly, resilience4j};

/// A product whose settings are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A gRPC service config (gRFC A6), in JSON.
    Grpc,
    /// Envoy's `RouteAction` or `RetryPolicy` with the `circuit_breakers` of a cluster, in YAML or JSON.
    Envoy,
    /// resilience4j for Spring Boot: `application.yml`, `.properties` or the same in JSON.
    Resilience4j,
    /// Polly 8 strategies or `Microsoft.Extensions.Http.Resilience`, as in `appsettings.json`.
    Polly,
}

impl Source {
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
    const fn marks(self) -> &'static [&'static str] {
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

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Source {
    type Err = ImportError;

    fn from_str(name: &str) -> Result<Self, ImportError> {
        let all = Self::ALL.map(Self::name).join(", ");
        let known = Self::ALL.into_iter().find(|source| source.name() == name);
        known.ok_or_else(|| ImportError::new("from", name, format!("one of {all}")))
    }
}

/// The policies of a settings file. Without `from`, its keys tell whose it is.
///
/// # Errors
/// A text that is none of JSON, YAML and properties; one that has no keys of a known product; a
/// setting that is out of bounds.
pub fn import(text: &str, from: Option<Source>) -> Result<Imported, ImportError> {
    let tree = tree(text)?;
    let found = from.or_else(|| Source::ALL.into_iter().find(|source| has(&tree, source.marks())));
    let Some(source) = found else {
        let bound = "settings of gRPC, Envoy, resilience4j or Polly; say which by --from";
        return Err(ImportError::new("", "no key of a known product", bound));
    };
    let imported = match source {
        Source::Grpc => grpc::import(&tree),
        Source::Envoy => envoy::import(&tree),
        Source::Resilience4j => resilience4j::import(&tree),
        Source::Polly => polly::import(&tree),
    }?;
    if imported.policies.is_empty() {
        let bound = format!("a file with retry settings of {source}");
        return Err(ImportError::new("", "no retry settings found", bound));
    }
    Ok(imported)
}

/// Whether any key of the tree is one of these.
fn has(tree: &Value, keys: &[&str]) -> bool {
    match tree {
        Value::Object(map) => {
            map.iter().any(|(key, value)| keys.contains(&plain(key).as_str()) || has(value, keys))
        }
        Value::Array(list) => list.iter().any(|value| has(value, keys)),
        _ => false,
    }
}
