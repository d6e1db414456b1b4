//! A log that is watched: lines in, storms out.

use stagger_core::Span;
use stagger_replay::{AccessLogFormat, LineParser, LogMap, ReadError};
use stagger_watch::{AttemptEvidence, StormDetector, WatchEvent, WatchSettings};

use super::figures::WatchFigures;
use super::line_buffer::{LineBuffer, LogPiece};

/// The reader of a log and the detector behind it.
#[derive(Debug)]
pub(super) struct LogWatch {
    lines: LineParser,
    detector: StormDetector,
}

impl LogWatch {
    pub(super) fn new(
        settings: WatchSettings,
        format: Option<AccessLogFormat>,
        map: Option<LogMap>,
    ) -> Self {
        Self { lines: LineParser::new(format, map), detector: StormDetector::new(settings) }
    }

    /// Tells the format by the first lines of a file that is followed from its end.
    ///
    /// # Errors
    /// Lines of no format that is known.
    pub(super) fn told_by(&mut self, head: &[u8]) -> Result<(), ReadError> {
        let mut ended = Ok(());
        LineBuffer::default().feed(head, &mut |piece| {
            if let (LogPiece::Line(line), true, None) = (piece, ended.is_ok(), self.lines.format())
            {
                ended = self.lines.push(line, |_, _| {});
            }
        });
        ended
    }

    /// Takes a piece of the log.
    ///
    /// # Errors
    /// Lines of no format that is known.
    pub(super) fn take(&mut self, piece: &LogPiece<'_>) -> Result<Vec<WatchEvent>, ReadError> {
        let (mut events, detector) = (Vec::new(), &mut self.detector);
        match piece {
            LogPiece::Line(line) => self.lines.push(line, |attempt, names| {
                events.extend(detector.push(attempt, names));
            })?,
            LogPiece::TooLong => self.lines.skip(),
            LogPiece::NewFile => self.lines.restart(),
        }
        Ok(events)
    }

    /// Time passes without a line.
    pub(super) fn pass(&mut self, by: Span) -> Vec<WatchEvent> {
        self.detector.pass(by)
    }

    /// The log is over.
    pub(super) fn finish(&mut self) -> Option<WatchEvent> {
        self.detector.finish()
    }

    /// Whether anything was an attempt.
    pub(super) const fn has_attempts(&self) -> bool {
        self.detector.totals().attempts > 0
    }

    /// Whether nothing in the last window tells retries from calls.
    pub(super) fn is_blind(&self) -> bool {
        let evidence = self.detector.now().map(|now| now.estimate.evidence);
        evidence == Some(AttemptEvidence::Nothing) && self.detector.totals().attempts > 0
    }

    pub(super) fn figures(&self) -> WatchFigures {
        WatchFigures {
            now: self.detector.now(),
            is_storm: self.detector.is_storm(),
            totals: Some(self.detector.totals()),
            storms: self.detector.totals().storms,
            lines: self.lines.lines(),
            malformed: self.lines.malformed(),
        }
    }
}
