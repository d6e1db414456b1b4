//! The refusal of settings, in one line for a log or a terminal.

use std::error::Error;
use std::fmt;

use stagger_text::settings::Flaw;

/// Settings that are refused: the file, the place, the key, the value and what is allowed.
///
/// ```
/// use stagger_proxy::config::ProxySettings;
/// let refused = ProxySettings::parse("routes.toml", "[proxy]\nlisten = 7").expect_err("no address");
/// assert_eq!(
///     refused.to_string(),
///     "routes.toml:2:10: proxy.listen = 7: must be an address with a port, such as 127.0.0.1:7878"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFault {
    message: String,
    flaw: Option<Flaw>,
}

impl SettingsFault {
    /// A mistake in the text of this file.
    pub(super) fn of(flaw: &Flaw, file: &str, text: &str) -> Self {
        Self { message: flaw.line(file, text), flaw: Some(flaw.clone()) }
    }

    /// A refusal that has no place in the text, such as a file that cannot be read.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), flaw: None }
    }

    /// The mistake and its bytes in the text, for a report that shows the line.
    #[must_use]
    pub const fn flaw(&self) -> Option<&Flaw> {
        self.flaw.as_ref()
    }
}

impl fmt::Display for SettingsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for SettingsFault {}
