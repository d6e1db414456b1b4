//! The time of a log: how far it has come, and the lines that are out of time.

use stagger_core::Span;

/// The place of a line in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinePlace {
    /// It is of about now.
    OnTime,
    /// It is of another time than its neighbours, and is not counted.
    OutOfTime,
    /// The clock of the log has jumped: what was counted before belongs to another time.
    Jumped,
}

/// The latest end of an attempt that was believed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogClock {
    now: Option<Span>,
    /// Lines out of time since the last one on time.
    odd: u32,
}

/// The latest time that is believed, in the year 2554: some seconds before the end of what a span holds, so that there is
/// always a next second.
const LATEST: Span = Span::from_secs(18_446_744_000);
/// The time by which a line may be late: buffers of writers are flushed every few seconds, and
/// several writers share a file.
const LATE: Span = Span::from_secs(30);
/// The time by which a line may be ahead of the one before it.
const AHEAD: Span = Span::from_secs(60);
/// Lines in a row that must be out of time before the clock is taken to have jumped. One line with a wrong date
/// must not blind the detector.
const CONFIRMED: u32 = 16;

impl LogClock {
    /// The time of the log; `None` before its first line.
    pub(crate) const fn now(&self) -> Option<Span> {
        self.now
    }

    /// Places an attempt that ended at this time since the epoch.
    pub(crate) fn place(&mut self, ended: Span) -> LinePlace {
        let ended = ended.min(LATEST);
        let Some(now) = self.now else {
            self.now = Some(ended);
            return LinePlace::OnTime;
        };
        // Spans saturate at zero, so each difference is zero where the other one counts.
        if now - ended <= LATE && ended - now <= AHEAD {
            self.odd = 0;
            self.now = Some(now.max(ended));
            return LinePlace::OnTime;
        }
        self.odd += 1;
        if self.odd < CONFIRMED {
            return LinePlace::OutOfTime;
        }
        *self = Self { now: Some(ended), odd: 0 };
        LinePlace::Jumped
    }

    /// Time passes without a line.
    pub(crate) fn pass(&mut self, by: Span) {
        self.now = self.now.map(|now| now.saturating_add(by).min(LATEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Span {
        Span::from_secs(second)
    }

    #[test]
    fn one_wrong_date_does_not_move_the_clock() {
        let mut clock = LogClock::default();
        assert_eq!(clock.place(at(1_000)), LinePlace::OnTime);
        assert_eq!(clock.place(at(9_000_000)), LinePlace::OutOfTime);
        assert_eq!(clock.place(at(3)), LinePlace::OutOfTime);
        assert_eq!(clock.place(at(990)), LinePlace::OnTime);
        assert_eq!(clock.now(), Some(at(1_000)));
    }

    #[test]
    fn a_clock_that_was_set_is_followed_both_ways() {
        for other in [at(10), at(1_000_000)] {
            let mut clock = LogClock::default();
            clock.place(at(100_000));
            let places: Vec<_> = (0..CONFIRMED).map(|_| clock.place(other)).collect();
            assert_eq!(places.last(), Some(&LinePlace::Jumped));
            assert_eq!(places.iter().filter(|&&p| p == LinePlace::OutOfTime).count(), 15);
            assert_eq!(clock.now(), Some(other));
        }
    }
}
