//! The settings of a detector, with their bounds.

use stagger_core::{ConfigError, Span};

/// The settings of a detector.
///
/// The thresholds were set on the half of the lab's worlds that `cargo xtask watch` does not report.
///
/// ```
/// use stagger_core::Span;
/// use stagger_watch::WatchSettings;
/// let settings = WatchSettings::default().with_window(Span::from_secs(10))?;
/// assert_eq!(settings.window_seconds(), 10);
/// assert!(settings.with_attempts_a_call(1.0).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WatchSettings {
    window: u32,
    attempts_a_call: f64,
    least_retries: u32,
}

impl WatchSettings {
    /// The longest window: what the counts of single seconds are kept for.
    const LONGEST_WINDOW: u32 = 60;

    /// The stretch that every verdict is about, default 5 s.
    ///
    /// # Errors
    /// Anything but whole seconds from 2 s to 60 s.
    pub fn with_window(self, window: Span) -> Result<Self, ConfigError> {
        let seconds = u32::try_from(window.as_secs_ceil()).unwrap_or(u32::MAX);
        let is_whole = Span::from_secs(window.as_secs_ceil()) == window;
        if !is_whole || !(2..=Self::LONGEST_WINDOW).contains(&seconds) {
            return Err(ConfigError::new("window", window, "whole seconds from 2s to 60s"));
        }
        Ok(Self { window: seconds, ..self })
    }

    /// The attempts a call from which on a storm is reported, default 1.4.
    ///
    /// # Errors
    /// Anything but a number from 1.1 to 100: below, single errors are storms.
    pub fn with_attempts_a_call(self, attempts: f64) -> Result<Self, ConfigError> {
        if !(1.1..=100.0).contains(&attempts) {
            return Err(ConfigError::new("attempts-a-call", attempts, "from 1.1 to 100"));
        }
        Ok(Self { attempts_a_call: attempts, ..self })
    }

    /// The fewest retries in the window that make a storm, default 20.
    ///
    /// # Errors
    /// Fewer than 5: chance alone makes those.
    pub fn with_least_retries(self, retries: u32) -> Result<Self, ConfigError> {
        if retries < 5 {
            return Err(ConfigError::new("least-retries", retries, "at least 5"));
        }
        Ok(Self { least_retries: retries, ..self })
    }

    /// The length of the window in seconds.
    #[must_use]
    pub const fn window_seconds(&self) -> u32 {
        self.window
    }

    /// The attempts a call from which on a storm is reported.
    #[must_use]
    pub const fn attempts_a_call(&self) -> f64 {
        self.attempts_a_call
    }

    /// The fewest retries in the window that make a storm.
    #[must_use]
    pub const fn least_retries(&self) -> u32 {
        self.least_retries
    }

    /// The attempts a call below which a storm is over: half of the excess that began it, so that
    /// one on the threshold is reported once.
    #[must_use]
    pub fn over_below(&self) -> f64 {
        f64::midpoint(1.0, self.attempts_a_call)
    }
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self { window: 5, attempts_a_call: 1.4, least_retries: 20 }
    }
}
