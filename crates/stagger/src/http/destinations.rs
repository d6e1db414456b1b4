//! One ledger for each server that requests go to, found without an allocation.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ::http::uri::Authority;
use ::http::{HeaderMap, Uri, header};
#[cfg(feature = "tonic")]
use stagger_core::Policy;
use stagger_core::breaker::Destination;

use super::ServerName;
use crate::{Clock, Ledgers, LocalLedger, Retrier};

/// The scheme of requests that do not name theirs: those to a server that is connected already.
const UNNAMED_SCHEME: &str = "http";

/// The ledgers of all destinations; none where the caller gave one ledger for all of them.
pub(crate) struct Destinations<L> {
    each: Option<Each<L>>,
}

struct Each<L> {
    ledgers: Ledgers,
    /// Proves that `L` is [`LocalLedger`].
    kind: fn(Arc<LocalLedger>) -> Arc<L>,
}

impl<L> Destinations<L> {
    /// A ledger for each destination, unless the retrier was given one.
    pub(crate) fn of<Z>(retrier: &Retrier<Z, L>) -> Self {
        let ledgers = || Ledgers::new(retrier.policy());
        Self { each: retrier.own_kind().map(|kind| Each { ledgers: ledgers(), kind }) }
    }

    /// The ledgers, if there are several.
    pub(crate) fn ledgers(&self) -> Option<&Ledgers> {
        self.each.as_ref().map(|each| &each.ledgers)
    }

    /// The ledger of the server that this request goes to; `None` for a request that names none, and
    /// where all share one.
    pub(crate) fn ledger(
        &self,
        clock: &impl Clock,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<Arc<L>> {
        let Each { ledgers, kind } = self.each.as_ref()?;
        let server = RequestServer::of(uri, headers)?;
        let now = clock.recent();
        // Nearly every request goes to a server that is known, and finds its ledger by a name on the
        // stack.
        let known = server.name().and_then(|name| ledgers.find(now, name.as_str()));
        let make = || Some(ledgers.ledger(now, &server.destination()?));
        Some(kind(known.or_else(make)?))
    }
}

impl Destinations<LocalLedger> {
    /// A ledger for each destination under this policy.
    #[cfg(feature = "tonic")]
    pub(crate) fn under(policy: &Policy) -> Self {
        Self::kept_in(Ledgers::new(policy))
    }

    pub(crate) const fn kept_in(ledgers: Ledgers) -> Self {
        Self { each: Some(Each { ledgers, kind: std::convert::identity }) }
    }
}

impl<L> Clone for Destinations<L> {
    fn clone(&self) -> Self {
        let each = |each: &Each<L>| Each { ledgers: each.ledgers.clone(), kind: each.kind };
        Self { each: self.each.as_ref().map(each) }
    }
}

impl<L> fmt::Debug for Destinations<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Destinations").field(&self.ledgers()).finish()
    }
}

/// The server of a request, as the request writes it.
struct RequestServer<'a> {
    scheme: &'a str,
    authority: Cow<'a, Authority>,
}

impl<'a> RequestServer<'a> {
    /// By the URI, or by the `Host` (RFC 9110 section 7.2).
    fn of(uri: &'a Uri, headers: &HeaderMap) -> Option<Self> {
        let host = || headers.get(header::HOST)?.to_str().ok()?.parse::<Authority>().ok();
        let named = uri.authority().map(Cow::Borrowed);
        let authority = named.or_else(|| host().map(Cow::Owned))?;
        Some(Self { scheme: uri.scheme_str().unwrap_or(UNNAMED_SCHEME), authority })
    }

    fn name(&self) -> Option<ServerName> {
        let port = self.authority.port_u16().or(match self.scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        })?;
        ServerName::new(self.scheme, self.authority.host(), port)
    }

    fn destination(&self) -> Option<Destination> {
        let Self { scheme, authority } = self;
        Destination::new(scheme, authority.host(), authority.port_u16()).ok()
    }
}

#[cfg(test)]
mod tests {
    use ::http::HeaderValue;

    use super::*;

    fn name(uri: &'static str, host: Option<&'static str>) -> Option<String> {
        let host = host.map(|host| (header::HOST, HeaderValue::from_static(host)));
        let (uri, headers) = (Uri::from_static(uri), host.into_iter().collect());
        let destination = RequestServer::of(&uri, &headers)?.destination()?;
        Some(destination.to_string())
    }

    #[test]
    fn one_server_has_one_name() {
        for uri in ["http://A.example/", "http://a.example:80/x?y", "http://me@a.example"] {
            assert_eq!(name(uri, Some("b.example")).as_deref(), Some("http://a.example:80"));
        }
        assert_eq!(name("https://[::1]/", None).as_deref(), Some("https://[::1]:443"));
        assert_eq!(name("/x", Some("a.example")).as_deref(), Some("http://a.example:80"));
        assert_eq!(name("/x", Some("a.example:81")).as_deref(), Some("http://a.example:81"));
    }

    #[test]
    fn a_request_without_a_server_has_no_ledger_of_its_own() {
        for host in [None, Some(""), Some("a b")] {
            assert_eq!(name("/x", host), None, "{host:?}");
        }
    }
}
