//! Routes of a proxy as foreign settings have them, in the keys of `routes.toml`.

use std::collections::BTreeMap;

use serde::Serialize;
use stagger_core::{Policy, Span};

use crate::Imported;

/// Routes, and everything of their settings that they do not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRoutes {
    /// Routes in the order of the documents; no two of them take the same requests.
    pub routes: Vec<ImportedRoute>,
    /// Sources, settings that are left out, notes and unknown documents. Its policies are those of the routes.
    pub imported: Imported,
}

/// One route. Its serialized form is the table `[route.NAME]` of `routes.toml`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedRoute {
    /// The name, unlike that of any other route, of 1 to 64 letters, digits, hyphens, underscores and dots.
    #[serde(skip)]
    pub name: String,
    /// The number of its document, from 0.
    #[serde(skip)]
    pub document: usize,
    /// The dotted path of its settings in the document.
    #[serde(skip)]
    pub source_path: String,
    /// Whether the source takes this path only, and none below it.
    #[serde(skip)]
    pub(crate) exact: bool,
    /// The address of its listener, with a port; `None` where the source names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// The hosts of its requests; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    /// The beginning of the paths of its requests.
    pub path: String,
    /// Whether that beginning is left out upstream.
    #[serde(skip_serializing_if = "is_false")]
    pub strip_path: bool,
    /// The URLs of its servers.
    pub upstream: Vec<String>,
    /// The version of HTTP upstream, where the source names one: `1.1` or `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<&'static str>,
    /// Whether servers see the `Host` of the caller.
    #[serde(skip_serializing_if = "is_false")]
    pub keep_host: bool,
    /// Calls in flight at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    /// Time for a connection to a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout: Option<Span>,
    /// Requests that may be sent again.
    #[serde(skip_serializing_if = "RepeatedRequests::is_default")]
    pub retry: RepeatedRequests,
    /// Headers that are set on every attempt.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// TLS to its servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ServerTls>,
    /// The policy of its calls.
    pub policy: Policy,
}

/// The requests that the source sends again, where it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepeatedRequests {
    /// Methods of HTTP; empty for those that are idempotent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<String>,
    /// Methods of gRPC, such as `/shop.Orders/Get`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grpc_methods: Vec<String>,
    /// Bytes of a body that are kept for another attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_limit: Option<u32>,
}

impl RepeatedRequests {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// TLS to servers: trusted roots, a certificate of the client, and the name in the server's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerTls {
    /// `false` where only the certificates of `ca_file` are trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_roots: Option<bool>,
    /// A file of trusted certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// A file of the client's certificate chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_file: Option<String>,
    /// A file of the client's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The name in the server's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
}

impl ServerTls {
    /// `None` where everything is as usual, so that no table is written.
    pub(crate) fn written(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl ImportedRoute {
    /// Whether every request of the other route with the same host is one of this.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let own = self.path.trim_end_matches('/');
        let below = other
            .path
            .strip_prefix(own)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.listen == other.listen && below && (!self.exact || self.path == other.path)
    }
}
