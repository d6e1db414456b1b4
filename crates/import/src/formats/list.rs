//! The list of formats.

use std::str::FromStr;

use super::format::{Format, RouteFormat};
use super::{
    aws, dapr, envoy, envoy_gateway, envoy_routes, gateway_api, grpc, haproxy, istio, istio_routes,
    kuma, linkerd, nginx, polly, resilience4j, spring_retry, temporal,
};
use crate::{ImportError, ImportSource};

/// Every format, in the order in which documents are asked for it.
pub(crate) const FORMATS: [Format; 15] = [
    grpc::FORMAT,
    envoy::FORMAT,
    istio::FORMAT,
    gateway_api::FORMAT,
    envoy_gateway::FORMAT,
    linkerd::FORMAT,
    kuma::FORMAT,
    dapr::FORMAT,
    resilience4j::FORMAT,
    spring_retry::FORMAT,
    polly::FORMAT,
    aws::FORMAT,
    temporal::FORMAT,
    nginx::FORMAT,
    haproxy::FORMAT,
];

/// The formats whose routes are read.
pub(crate) const ROUTE_FORMATS: [RouteFormat; 2] = [
    RouteFormat {
        source: envoy::SOURCE,
        recognizes: envoy_routes::recognizes,
        routes: envoy_routes::routes,
    },
    RouteFormat {
        source: istio::SOURCE,
        recognizes: istio_routes::recognizes,
        routes: istio_routes::routes,
    },
];

impl ImportSource {
    /// All formats that are read.
    ///
    /// ```
    /// use stagger_import::ImportSource;
    /// assert!(ImportSource::all().any(|source| source.name() == "gateway-api"));
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.iter().map(|format| format.source)
    }

    /// The formats that are written too.
    ///
    /// ```
    /// use stagger_import::ImportSource;
    /// let names: Vec<_> = ImportSource::exported().map(ImportSource::name).collect();
    /// assert_eq!(names, ["grpc", "envoy", "istio", "gateway-api", "resilience4j", "polly", "aws"]);
    /// ```
    pub fn exported() -> impl Iterator<Item = Self> {
        FORMATS.iter().filter(|format| format.export.is_some()).map(|format| format.source)
    }
}

impl FromStr for ImportSource {
    type Err = ImportError;

    fn from_str(name: &str) -> Result<Self, ImportError> {
        let known = Self::all().find(|source| source.name() == name);
        known.ok_or_else(|| {
            let all: Vec<&str> = Self::all().map(Self::name).collect();
            ImportError::new("from", name, format!("one of {}", all.join(", ")))
        })
    }
}
