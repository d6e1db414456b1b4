//! The requests of a route that may be sent again, and the part of their bodies that is kept for it.

use http::Method;
use stagger::classify::is_idempotent;
use stagger::http::REPLAY_LIMIT;
use stagger_text::nearest;
use stagger_text::settings::{Flaw, Reader, Value, refused};

use super::limits::size;
use super::upstream::texts;

/// The most bytes of one request that may be kept: ten thousand calls under way would be 160 GB.
const MAX_REPLAY: u64 = 16 << 20;

/// The names that a wrong spelling of a method probably meant.
const METHODS: [&str; 9] =
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "QUERY"];

/// An `Idempotency-Key` that the proxy adds to requests which have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddedKey {
    /// No key is added.
    #[default]
    None,
    /// A key in quotes, as the draft of the header wants it.
    Quoted,
    /// A key without quotes, for servers that compare it as it is.
    Unquoted,
}

/// The rules by which requests may be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRules {
    /// The methods; `None` for the idempotent ones of RFC 9110. A request with an `Idempotency-Key` may be
    /// sent again whatever its method.
    pub methods: Option<Vec<Method>>,
    /// The paths of gRPC methods, such as `/shop.Orders/Get`; `/shop.Orders/*` is every method of a service.
    pub grpc_methods: Vec<String>,
    /// The key that requests of other methods are given.
    pub added_key: AddedKey,
    /// Whether a request is sent once more after a 401, with the headers that files have by then.
    pub after_401: bool,
    /// Bytes of a request that are kept for another attempt, at most 16 MiB. Default: 64 KiB.
    pub replay_limit: usize,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self {
            methods: None,
            grpc_methods: Vec::new(),
            added_key: AddedKey::None,
            after_401: false,
            replay_limit: REPLAY_LIMIT,
        }
    }
}

impl RetryRules {
    /// Whether a request of this method may be sent again without a key.
    #[must_use]
    pub fn repeats(&self, method: &Method) -> bool {
        match &self.methods {
            Some(methods) => methods.contains(method),
            None => is_idempotent(method.as_str()),
        }
    }

    /// Whether the gRPC method of this path may be called again.
    #[must_use]
    pub fn repeats_grpc(&self, path: &str) -> bool {
        self.grpc_methods.iter().any(|allowed| match allowed.strip_suffix('*') {
            Some(service) => path.starts_with(service),
            None => allowed == path,
        })
    }

    /// Reads `[route.NAME.retry]`.
    pub(super) fn read(table: &Reader<'_, '_>) -> Result<Self, Flaw> {
        let default = Self::default();
        let methods = table.value("methods").map(|value| methods(&table.name("methods"), value));
        let grpc =
            table.value("grpc_methods").map(|value| grpc(&table.name("grpc_methods"), value));
        let rules = Self {
            methods: methods.transpose()?,
            grpc_methods: grpc.transpose()?.unwrap_or_default(),
            added_key: added_key(table)?,
            after_401: table.boolean("after_401")?.unwrap_or(false),
            replay_limit: size(table, "replay_limit", (0, MAX_REPLAY))?
                .unwrap_or(default.replay_limit),
        };
        table.done()?;
        Ok(rules)
    }
}

fn added_key(table: &Reader<'_, '_>) -> Result<AddedKey, Flaw> {
    Ok(match table.plain("idempotency_key")? {
        None => AddedKey::None,
        Some((text, _)) => match text.as_str() {
            "false" => AddedKey::None,
            "true" => AddedKey::Quoted,
            "unquoted" => AddedKey::Unquoted,
            _ => return Err(table.wrong("idempotency_key", "true, false or \"unquoted\"")),
        },
    })
}

/// A method in capitals, or a list of them.
fn methods(name: &str, value: &Value<'_>) -> Result<Vec<Method>, Flaw> {
    let names: Vec<MethodName> = texts(name, value)?;
    let method = |it: MethodName| match Method::from_bytes(it.0.as_bytes()) {
        Ok(Method::CONNECT) | Err(_) => Err(refused(name, value, "methods such as GET")),
        Ok(method) => Ok(method),
    };
    names.into_iter().map(method).collect()
}

struct MethodName(String);

impl std::str::FromStr for MethodName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let capitals = text.to_ascii_uppercase();
        if text == capitals && !text.is_empty() {
            return Ok(Self(capitals));
        }
        let meant = nearest(&capitals, METHODS.into_iter());
        let meant = meant.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(format!("a method in capitals, such as GET{meant}"))
    }
}

fn grpc(name: &str, value: &Value<'_>) -> Result<Vec<String>, Flaw> {
    let paths: Vec<GrpcPath> = texts(name, value)?;
    Ok(paths.into_iter().map(|path| path.0).collect())
}

struct GrpcPath(String);

impl std::str::FromStr for GrpcPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            ["", service, method]
                if !service.is_empty()
                    && !service.contains('*')
                    && (method == "*" || (!method.is_empty() && !method.contains('*'))) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err("a path such as /shop.Orders/Get or /shop.Orders/*".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_named_a_service_that_only_begins_alike() {
        let rules =
            RetryRules { grpc_methods: vec!["/shop.Orders/*".into()], ..RetryRules::default() };
        assert!(rules.repeats_grpc("/shop.Orders/Get"));
        assert!(!rules.repeats_grpc("/shop.OrdersAdmin/Get"));
    }

    #[test]
    fn listed_methods_replace_those_of_the_standard() {
        let rules = RetryRules { methods: Some(vec![Method::POST]), ..RetryRules::default() };
        assert!(rules.repeats(&Method::POST) && !rules.repeats(&Method::GET));
        assert!(RetryRules::default().repeats(&Method::PUT));
        assert!(!RetryRules::default().repeats(&Method::POST));
    }
}
