//! Channels: names by which messages reach only those endpoints that listen to them.

use std::str::FromStr;
use std::sync::Arc;

use stagger_core::ConfigError;

use super::text_form::text_form;

/// Longest name, in bytes.
const LONGEST: usize = 128;

/// A channel of an application's messages, such as the name of one of its customers or projects: 1 to
/// 128 letters, digits, and `_`, `-`, `.` or `:`.
///
/// An endpoint that names channels receives only messages that name one of them.
///
/// ```
/// use stagger_scheduler::model::ChannelName;
/// assert!("project:17".parse::<ChannelName>().is_ok());
/// assert!("a, b".parse::<ChannelName>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelName(Arc<str>);

impl ChannelName {
    /// The most channels of one message or one endpoint: each pair is compared when a message is accepted.
    pub const MOST: usize = 10;

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Sorted, each once.
    ///
    /// # Errors
    /// There are more than [`MOST`](Self::MOST).
    pub fn set(mut channels: Vec<Self>) -> Result<Vec<Self>, ConfigError> {
        channels.sort_unstable();
        channels.dedup();
        if channels.len() > Self::MOST {
            return Err(ConfigError::new("channels", channels.len(), "at most 10 channels"));
        }
        Ok(channels)
    }
}

impl FromStr for ChannelName {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let is_allowed =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
        if text.is_empty() || text.len() > LONGEST || !text.bytes().all(is_allowed) {
            let bound = "1 to 128 letters, digits, _, -, full stops and colons";
            return Err(ConfigError::new("channels", text, bound));
        }
        Ok(Self(text.into()))
    }
}

text_form!(ChannelName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_that_repeat_counted_twice() {
        let named = |n: usize| format!("c{n}").parse::<ChannelName>().unwrap();
        let twice = [named(2), named(1), named(2)].to_vec();
        assert_eq!(ChannelName::set(twice).unwrap(), [named(1), named(2)]);
        assert!(ChannelName::set((0..11).map(named).collect()).is_err());
    }
}
