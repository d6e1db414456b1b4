//! The reports of a watch on standard output.

use std::io;

use stagger_watch::WatchEvent;

use super::figures::WatchFigures;
use super::{json, text};
use crate::flags::WatchFormat;
use crate::streams;

/// Writes reports in one form.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchReporter {
    format: WatchFormat,
}

impl WatchReporter {
    pub(super) const fn new(format: WatchFormat) -> Self {
        Self { format }
    }

    /// Writes an event; whether anybody still reads.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn event(self, event: &WatchEvent) -> io::Result<bool> {
        let report = match self.format {
            WatchFormat::Text => text::event(event),
            WatchFormat::Json => json::event(event),
        };
        streams::piece(report.as_bytes())
    }

    /// Writes the counts at the end.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn end(self, figures: &WatchFigures) -> io::Result<bool> {
        let report = match self.format {
            WatchFormat::Text => text::end(figures),
            WatchFormat::Json => json::end(figures),
        };
        streams::piece(report.as_bytes())
    }
}
