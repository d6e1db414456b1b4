//! The receiver of traces: the URL of a collector, in a build that sends traces.

/// The bound on the URL of a collector, for messages. A build without traces refuses it, wherever it is set.
pub(super) const OTLP_URL: &str = if cfg!(feature = "otel") {
    "an http or https address"
} else {
    "left out, because this build sends no traces; build stagger with --features otel"
};

/// The URL of a collector; `None` for a text that is none, and in a build without traces.
pub(super) fn otlp_url(text: &str) -> Option<String> {
    let url: http::Uri = text.parse().ok().filter(|_| cfg!(feature = "otel"))?;
    let named = matches!(url.scheme_str(), Some("http" | "https")) && url.authority().is_some();
    named.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::ProxySettings;
    use super::*;

    #[test]
    fn traces_were_dropped_in_silence_by_a_build_that_cannot_send_them() {
        let text = |url: &str| format!("proxy.otlp = '{url}'\n[route.a]\nupstream = 'http://a'\n");
        for url in ["collector:4318", "ftp://collector", "/v1/traces"] {
            let refused = ProxySettings::parse("r.toml", &text(url)).expect_err("no URL");
            let expected = format!("r.toml:1:14: proxy.otlp = {url}: must be {OTLP_URL}");
            assert_eq!(refused.to_string(), expected);
        }
        let read = ProxySettings::parse("r.toml", &text("http://127.0.0.1:4318/v1/traces"));
        let url = read.ok().and_then(|settings| settings.otlp);
        assert_eq!(url.is_some(), cfg!(feature = "otel"));
    }
}
