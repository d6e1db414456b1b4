//! Scripts, styles and pictures: in the binary, under names that hold their hash.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};

/// The path of the assets.
pub(super) const FOLDER: &str = "/ui/assets/";

/// Hexadecimal digits of the hash in a name: 64 bits distinguish any two builds.
const DIGITS: usize = 16;

const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// All files of the page.
static ASSETS: LazyLock<Assets> = LazyLock::new(Assets::new);

/// The files that every page names.
#[derive(Debug)]
pub(super) struct Assets {
    pub(super) style: Asset,
    pub(super) chart_style: Asset,
    pub(super) icon: Asset,
    pub(super) page: Asset,
    pub(super) htmx: Asset,
    pub(super) uplot: Asset,
}

impl Assets {
    /// The files of this build.
    pub(super) fn get() -> &'static Self {
        &ASSETS
    }

    fn new() -> Self {
        const CSS: &str = "text/css; charset=utf-8";
        const JS: &str = "text/javascript; charset=utf-8";
        Self {
            style: Asset::new("page", "css", CSS, include_bytes!("../../assets/page.css")),
            chart_style: Asset::new(
                "uplot",
                "css",
                CSS,
                include_bytes!("../../assets/vendor/uplot-1.6.32.min.css"),
            ),
            icon: Asset::new(
                "icon",
                "svg",
                "image/svg+xml",
                include_bytes!("../../assets/icon.svg"),
            ),
            page: Asset::new("page", "js", JS, include_bytes!("../../assets/page.js")),
            htmx: Asset::new(
                "htmx",
                "js",
                JS,
                include_bytes!("../../assets/vendor/htmx-4.0.1.min.js"),
            ),
            uplot: Asset::new(
                "uplot",
                "js",
                JS,
                include_bytes!("../../assets/vendor/uplot-1.6.32.iife.min.js"),
            ),
        }
    }

    fn by_name(&self, name: &str) -> Option<&Asset> {
        let all = [&self.style, &self.chart_style, &self.icon, &self.page, &self.htmx, &self.uplot];
        all.into_iter().find(|asset| asset.path.strip_prefix(FOLDER) == Some(name))
    }
}

/// One file.
#[derive(Debug)]
pub(super) struct Asset {
    /// Its path on the server.
    pub(super) path: String,
    content_type: HeaderValue,
    etag: HeaderValue,
    bytes: Bytes,
}

impl Asset {
    fn new(stem: &str, end: &str, content_type: &'static str, bytes: &'static [u8]) -> Self {
        Self::within(FOLDER, (stem, end), content_type, Bytes::from_static(bytes))
    }

    /// A file below `folder`, with its stem and its ending.
    pub(super) fn within(
        folder: &str,
        (stem, end): (&str, &str),
        content_type: &'static str,
        bytes: Bytes,
    ) -> Self {
        let hash = hex(&Sha256::digest(&bytes));
        let etag = HeaderValue::try_from(format!("\"{hash}\"")).expect("digits are visible");
        let path = format!("{folder}{stem}-{}.{end}", &hash[..DIGITS]);
        Self { path, content_type: HeaderValue::from_static(content_type), etag, bytes }
    }

    /// The same bytes below another folder.
    pub(super) fn moved(&self, folder: &str) -> Self {
        let name = self.path.strip_prefix(FOLDER).unwrap_or(&self.path);
        let (content_type, etag) = (self.content_type.clone(), self.etag.clone());
        Self { path: format!("{folder}{name}"), content_type, etag, bytes: self.bytes.clone() }
    }

    pub(super) fn answer(&self, headers: &HeaderMap) -> Response {
        let known = headers.get_all(IF_NONE_MATCH).iter().any(|tags| names(tags, &self.etag));
        let fresh = [(ETAG, self.etag.clone()), (CACHE_CONTROL, FOREVER)];
        if known {
            return (StatusCode::NOT_MODIFIED, fresh).into_response();
        }
        (fresh, [(CONTENT_TYPE, self.content_type.clone())], self.bytes.clone()).into_response()
    }
}

/// Answers with a file.
pub(super) async fn serve(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match Assets::get().by_name(&name) {
        Some(asset) => asset.answer(&headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Whether a field `If-None-Match` names `etag` (RFC 9110 section 13.1.2).
fn names(tags: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(tags), Ok(etag)) = (tags.to_str(), etag.to_str()) else { return false };
    tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str, tag: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(tag) = tag {
            headers.insert(IF_NONE_MATCH, tag.parse().unwrap());
        }
        let name = path.strip_prefix(FOLDER).unwrap();
        Assets::get().by_name(name).unwrap().answer(&headers)
    }

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        let path = &Assets::get().htmx.path;
        let first = get(path, None);
        assert_eq!(first.status(), 200);
        assert_eq!(first.headers()[CACHE_CONTROL], FOREVER);
        let tag = first.headers()[ETAG].to_str().unwrap().to_owned();
        assert!(tag.starts_with('"'), "a strong one: {tag}");
        assert_eq!(get(path, Some(&format!("\"other\", {tag}"))).status(), 304);
        assert_eq!(get(path, Some("\"other\"")).status(), 200);
    }

    #[test]
    fn the_hash_in_a_name_is_part_of_its_tag() {
        let asset = &Assets::get().style;
        let digits = asset.path.trim_end_matches(".css").rsplit('-').next().unwrap();
        assert!(asset.etag.to_str().unwrap().starts_with(&format!("\"{digits}")));
    }
}
