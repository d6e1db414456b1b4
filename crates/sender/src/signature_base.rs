//! The text that a signature of an HTTP message covers (RFC 9421 section 2.5).

use std::fmt::Write as _;

use http::{HeaderMap, HeaderName};
use stagger::hint::structured::{BareItem, InnerList, Item};
use url::{Position, Url};

/// A request as signatures cover it.
#[derive(Clone, Copy, Debug)]
pub struct SignedRequest<'r> {
    /// The method, in the case in which it is sent.
    pub method: &'r str,
    /// The whole URL of the request: scheme, host, path and query.
    pub target_uri: &'r Url,
    /// All headers.
    pub headers: &'r HeaderMap,
}

/// The covered components of these names, without parameters of their own.
pub(crate) fn components<'n>(names: impl IntoIterator<Item = &'n str>) -> InnerList {
    let item = |name: &str| Item::from(BareItem::String(name.to_owned()));
    InnerList { items: names.into_iter().map(item).collect(), ..InnerList::default() }
}

/// The names of the covered components; `None` if one is no text, has parameters, or is named twice (RFC 9421
/// section 2.5). No webhook needs parameters of components, which cover parts of fields and other messages.
pub(crate) fn names(covered: &InnerList) -> Option<Vec<&str>> {
    let mut names = Vec::with_capacity(covered.items.len());
    for item in &covered.items {
        let BareItem::String(name) = &item.value else { return None };
        if !item.parameters.is_empty() || names.contains(&name.as_str()) {
            return None;
        }
        names.push(name.as_str());
    }
    Some(names)
}

impl SignedRequest<'_> {
    /// The signature base; `parameters` is the written list of components with the parameters of the signature.
    /// `None` if the request lacks a component, or one is not known.
    pub(crate) fn base(&self, names: &[&str], parameters: &str) -> Option<String> {
        let mut base = String::new();
        for name in names {
            let value = self.component(name)?;
            writeln!(base, "\"{name}\": {value}").expect("a text takes all that is written");
        }
        write!(base, "\"@signature-params\": {parameters}")
            .expect("a text takes all that is written");
        Some(base)
    }

    /// The value of one component: derived (section 2.2), or a field (section 2.1).
    fn component(&self, name: &str) -> Option<String> {
        let url = self.target_uri;
        match name {
            "@method" => Some(self.method.to_owned()),
            "@target-uri" => Some(url[..Position::AfterQuery].to_owned()),
            // The parser has written the host in lower case, and left out the port of the scheme.
            "@authority" => Some(url[Position::BeforeHost..Position::AfterPort].to_owned()),
            "@scheme" => Some(url.scheme().to_owned()),
            "@request-target" => Some(url[Position::BeforePath..Position::AfterQuery].to_owned()),
            "@path" => Some(url.path().to_owned()),
            "@query" => Some(format!("?{}", url.query().unwrap_or_default())),
            _ => combined(self.headers, name),
        }
    }
}

/// The lines of a field in one, trimmed and joined (RFC 9421 section 2.1); `None` if there is none, if one is no text
/// in ASCII, or if the name is not one in lower case.
pub(crate) fn combined(headers: &HeaderMap, name: &str) -> Option<String> {
    let name = HeaderName::from_lowercase(name.as_bytes()).ok()?;
    let mut lines = headers.get_all(name).iter().map(|line| line.to_str().map(str::trim));
    let mut value = lines.next()?.ok()?.to_owned();
    for line in lines {
        value.push_str(", ");
        value.push_str(line.ok()?);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(url: &str, name: &str) -> Option<String> {
        let url = Url::parse(url).expect("a URL");
        let headers = [("x-a", " 1 "), ("x-a", "2"), ("x-b", "")];
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().expect("a value"));
        }
        SignedRequest { method: "POST", target_uri: &url, headers: &map }.component(name)
    }

    /// The examples of RFC 9421 section 2.2.
    #[test]
    fn components_have_the_values_of_the_standard() {
        let url = "https://www.example.com/path?param=value";
        for (name, value) in [
            ("@method", "POST"),
            ("@target-uri", "https://www.example.com/path?param=value"),
            ("@authority", "www.example.com"),
            ("@scheme", "https"),
            ("@request-target", "/path?param=value"),
            ("@path", "/path"),
            ("@query", "?param=value"),
            ("x-a", "1, 2"),
            ("x-b", ""),
        ] {
            assert_eq!(part(url, name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(part("https://A.test:443", "@authority").as_deref(), Some("a.test"));
        assert_eq!(part("http://a.test:8080", "@authority").as_deref(), Some("a.test:8080"));
        assert_eq!(part("https://a.test", "@path").as_deref(), Some("/"));
        assert_eq!(part("https://a.test/x", "@query").as_deref(), Some("?"));
        for name in ["x-c", "X-A", "@status", "@other", ""] {
            assert_eq!(part(url, name), None, "{name}");
        }
    }
}
