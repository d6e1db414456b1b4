//! Text that came from outside, made harmless inside HTML and SVG.

use std::fmt;

use askama::filters::HtmlSafe;

/// HTML that a page takes over as it is: text with everything escaped, or elements of this crate's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Text from outside, escaped.
    pub(crate) fn text(text: &str) -> Self {
        Self(escaped(text))
    }

    /// Elements that this crate wrote, or escaped text with such elements in it.
    pub(crate) const fn own(html: String) -> Self {
        Self(html)
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Nothing else makes one than the two functions above.
impl HtmlSafe for Html {}

/// The text with everything that could end an element or an attribute spelled out, and without
/// control characters, which no XML may hold.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_stays_text() {
        assert_eq!(escaped("<script>\"&'\u{0}"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}");
    }
}
