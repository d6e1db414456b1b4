//! The settings of the portal: its look, with values that are checked, and the pages that may show it in a frame.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// Longest title, in characters: it stays on one line beside a logo.
const MAX_TITLE: usize = 60;

/// Longest address of a logo, in bytes.
const MAX_URL: usize = 500;

/// Most origins: each is in a header of every reply.
const MAX_ANCESTORS: usize = 20;

/// The look of the portal, and the pages that may show it in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalSettings {
    /// The title of its pages: default `Webhooks`.
    pub title: String,
    /// The address of a picture beside the title: default none.
    pub logo_url: Option<String>,
    /// The colour of links and main buttons: default that of the operator's page.
    pub accent: Option<Accent>,
    /// The origins whose pages may show it in a frame: default none.
    pub frame_ancestors: Vec<String>,
}

impl Default for PortalSettings {
    fn default() -> Self {
        let title = "Webhooks".to_owned();
        Self { title, logo_url: None, accent: None, frame_ancestors: Vec::new() }
    }
}

/// A colour, which is made darker or lighter until texts in it can be read (WCAG 2.2, 1.4.3).
///
/// ```
/// use stagger_dispatch::config::Accent;
/// let yellow: Accent = "#ffd400".parse().expect("a colour");
/// assert_eq!(yellow.on_dark().to_string(), "#ffd400");
/// assert_ne!(yellow.on_light().to_string(), "#ffd400", "yellow on white cannot be read");
/// assert!("red; } body { display: none".parse::<Accent>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accent([u8; 3]);

/// The grounds of the page on which texts are least readable: in the light, and in the dark.
const LIGHT: Accent = Accent([0xf7, 0xf7, 0xf5]);
const DARK: Accent = Accent([0x1b, 0x1e, 0x24]);

/// The least contrast of a text.
const CONTRAST: f64 = 4.5;

impl Accent {
    /// The colour as it can be read on a light page, with white texts on it.
    #[must_use]
    pub fn on_light(self) -> Self {
        self.readable_on(LIGHT, 0)
    }

    /// The colour as it can be read on a dark page, with dark texts on it.
    #[must_use]
    pub fn on_dark(self) -> Self {
        self.readable_on(DARK, u8::MAX)
    }

    /// Goes towards an end, black or white, until the contrast is enough. The end itself has enough.
    fn readable_on(self, ground: Self, end: u8) -> Self {
        let mut colour = self;
        while colour.contrast(ground) < CONTRAST && colour.0 != [end; 3] {
            colour.0 = colour.0.map(|part| step(part, end));
        }
        colour
    }

    /// The contrast of two colours, from 1 to 21.
    fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// The relative luminance of a colour, from 0 to 1.
    fn luminance(self) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

/// A sixteenth of the way towards an end, at least one.
fn step(part: u8, end: u8) -> u8 {
    let way = part.abs_diff(end).div_ceil(16);
    if end > part { part + way } else { part - way }
}

/// A text that is no colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAccent;

impl FromStr for Accent {
    type Err = NoAccent;

    fn from_str(text: &str) -> Result<Self, NoAccent> {
        let digits = text.strip_prefix('#').filter(|digits| {
            digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let [_, red, green, blue] = number.ok_or(NoAccent)?.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl fmt::Display for Accent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl fmt::Display for NoAccent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a colour such as #0a66c2")
    }
}

impl std::error::Error for NoAccent {}

/// The title in a text.
pub(super) fn title(text: &str) -> Option<String> {
    let plain =
        (1..=MAX_TITLE).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    plain.then(|| text.to_owned())
}

/// The address of a picture in a text.
pub(super) fn logo(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_URL)?;
    let named = url.username().is_empty() && url.password().is_none() && url.has_host();
    (is_safe(&url) && named).then(|| url.into())
}

/// The origins in a text.
pub(super) fn frame_ancestors(text: &str) -> Option<Vec<String>> {
    let origin = |word: &str| {
        let url = Url::parse(word.trim()).ok().filter(is_safe)?;
        let plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let named = url.username().is_empty() && url.password().is_none() && url.has_host();
        // A domain may not end the list of a header, whatever a parser lets through.
        let clean = |origin: &String| !origin.contains([';', ',', ' ', '*', '\'']);
        (plain && named).then(|| url.origin().ascii_serialization()).filter(clean)
    };
    let origins: Option<Vec<_>> = text.split(',').map(origin).collect();
    origins.filter(|origins| origins.len() <= MAX_ANCESTORS)
}

/// Whether an address has TLS, or is on this machine.
fn is_safe(url: &Url) -> bool {
    let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    url.scheme() == "https" || (url.scheme() == "http" && local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_was_unreadable() {
        for number in (0..0x0100_0000_u32).step_by(4_099) {
            let accent: Accent = format!("#{number:06x}").parse().unwrap();
            let white = Accent([255; 3]);
            assert!(accent.on_light().contrast(LIGHT) >= CONTRAST, "{accent}");
            assert!(accent.on_light().contrast(white) >= CONTRAST, "{accent}");
            assert!(accent.on_dark().contrast(DARK) >= CONTRAST, "{accent}");
            assert_eq!(accent.to_string().parse(), Ok(accent));
        }
    }

    #[test]
    fn a_readable_colour_was_changed() {
        let blue: Accent = "#3d54c9".parse().unwrap();
        assert_eq!(blue.on_light(), blue);
        assert_ne!(blue.on_dark(), blue);
    }

    #[test]
    fn raw_styles_and_pages_without_tls_were_taken() {
        for wrong in ["red", "#fff", "#12345g", "#123456;", " #123456", "#+12345", ""] {
            assert_eq!(wrong.parse::<Accent>(), Err(NoAccent), "{wrong}");
        }
        for wrong in
            ["http://a.example/x.svg", "javascript:alert(1)", "data:image/png;base64,", "x", ""]
        {
            assert_eq!(logo(wrong), None, "{wrong}");
        }
        assert_eq!(logo("https://a.example/x.svg").as_deref(), Some("https://a.example/x.svg"));
        for wrong in ["", "\n", "a\nb", &"x".repeat(61)] {
            assert_eq!(title(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn an_ancestor_is_an_origin() {
        let read = |text: &str| frame_ancestors(text).map(|origins| origins.join(" "));
        let two = "https://App.example, http://localhost:3000/";
        assert_eq!(read(two).as_deref(), Some("https://app.example http://localhost:3000"));
        for wrong in [
            "",
            "*",
            "https://*",
            "https://*.example",
            "http://app.example",
            "https://app.example/path",
            "https://me@app.example",
            "https://app.example; script-src *",
            "'self'",
            "https:",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let many = vec!["https://app.example"; 21].join(",");
        assert_eq!(read(&many), None);
    }
}
