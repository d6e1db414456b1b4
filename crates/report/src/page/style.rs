//! The style sheet of the page, and the policy that allows it and nothing else.

use crate::render::css;

/// Everything within the page's one `style` element.
pub(super) fn style() -> String {
    css(":root") + include_str!("style.css")
}

/// No script, no network, no font, no frame, and this very style sheet.
pub(super) fn policy() -> String {
    format!("default-src 'none'; style-src 'sha256-{DIGEST}'; base-uri 'none'; form-action 'none'")
}

/// SHA-256 of the style sheet in Base64; a test computes it again.
const DIGEST: &str = "+VHFMsAVx1pA9vyQ0U27xtCHb6fL0bVVL6mQzKfAzZw=";

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use sha2::Digest as _;

    use super::*;

    #[test]
    fn a_changed_style_sheet_would_be_refused_by_its_own_policy() {
        let digest = sha2::Sha256::digest(style());
        assert_eq!(DIGEST, base64::engine::general_purpose::STANDARD.encode(digest));
    }
}
