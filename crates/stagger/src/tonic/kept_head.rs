//! The head of a request, kept for further attempts in place: a clean call allocates nothing for it.

use ::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Uri, Version, request};
use tonic::GrpcMethod;

/// The headers that are kept in place: those of a generated client and one or two of the caller's.
const IN_PLACE: usize = 4;

type HeaderLine = (HeaderName, HeaderValue);

/// A copy of a head. Its strings are shared with the original.
pub(super) struct KeptHead {
    method: Method,
    uri: Uri,
    version: Version,
    headers: [Option<HeaderLine>; IN_PLACE],
    further: Vec<HeaderLine>,
    /// The method as a generated client names it.
    named: Option<GrpcMethod<'static>>,
    /// All extensions, where the caller has others.
    extensions: Extensions,
}

impl KeptHead {
    pub(super) fn of(parts: &request::Parts) -> Self {
        let lines = parts.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        let mut lines = lines.fuse();
        let headers = std::array::from_fn(|_| lines.next());
        let named = parts.extensions.get::<GrpcMethod<'static>>().cloned();
        let others = parts.extensions.len() > usize::from(named.is_some());
        let extensions = if others { parts.extensions.clone() } else { Extensions::new() };
        let (method, uri) = (parts.method.clone(), parts.uri.clone());
        let version = parts.version;
        Self { method, uri, version, headers, further: lines.collect(), named, extensions }
    }

    /// The head of one more attempt.
    pub(super) fn again(&self) -> request::Parts {
        let mut parts = request::Request::new(()).into_parts().0;
        parts.method.clone_from(&self.method);
        parts.uri.clone_from(&self.uri);
        parts.version = self.version;
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers.iter().flatten().chain(&self.further) {
            headers.append(name.clone(), value.clone());
        }
        parts.headers = headers;
        parts.extensions = self.extensions.clone();
        if let Some(named) = &self.named {
            parts.extensions.insert(named.clone());
        }
        parts
    }

    /// The method as a generated client names it.
    #[cfg(feature = "metrics")]
    pub(super) const fn method(&self) -> Option<&GrpcMethod<'static>> {
        self.named.as_ref()
    }

    #[cfg(feature = "metrics")]
    pub(super) const fn uri(&self) -> &Uri {
        &self.uri
    }
}

#[cfg(test)]
mod tests {
    use ::http::Request;

    use super::*;

    #[test]
    fn a_further_attempt_lost_a_part_of_its_head() {
        let mut request = Request::post("/store.Orders/Get").version(Version::HTTP_2);
        for (name, value) in [("te", "trailers"), ("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")] {
            request = request.header(name, value);
        }
        let mut parts = request.body(()).expect("the request is a constant").into_parts().0;
        parts.extensions.insert(GrpcMethod::new("store.Orders", "Get"));
        let again = KeptHead::of(&parts).again();
        assert_eq!(again.headers, parts.headers);
        assert_eq!(
            (again.method, again.uri, again.version),
            (parts.method, parts.uri, parts.version)
        );
        let named = again.extensions.get::<GrpcMethod<'static>>();
        assert_eq!((named.map(GrpcMethod::method), again.extensions.len()), (Some("Get"), 1));
    }
}
