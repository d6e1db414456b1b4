//! Counts of single seconds, and their sums over a window.

/// The counts of one second, or sums of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SecondCounts {
    /// Lines, that is attempts as the writer of the log saw them.
    pub(crate) lines: f64,
    /// Further attempts that a proxy made behind its lines.
    pub(crate) behind: f64,
    pub(crate) failed: f64,
    /// Lines with the number of the attempt.
    pub(crate) numbered: f64,
    /// Those with number 1.
    pub(crate) first: f64,
    /// Those with number 1 whose caller is followed.
    pub(crate) first_followed: f64,
    /// Those of them whose caller had failed before: a layer further out repeats the call.
    pub(crate) first_again: f64,
    /// Lines whose caller is followed, by an id or by client and request.
    pub(crate) followed: f64,
    /// Those of them with an id.
    pub(crate) by_id: f64,
    /// Lines of a caller whose last attempt had failed.
    pub(crate) after_failure: f64,
    /// Lines of a caller whose last attempt had been served.
    pub(crate) after_success: f64,
    /// Seconds that callers spent after a failure, added up.
    pub(crate) failing_time: f64,
    /// Seconds that callers spent after a success, added up.
    pub(crate) served_time: f64,
}

/// The seconds that are kept.
const KEPT: usize = 64;

/// The last seconds, the newest at `newest`.
#[derive(Clone, Debug)]
pub(crate) struct WindowCounts {
    seconds: [SecondCounts; KEPT],
    newest: usize,
}

impl Default for WindowCounts {
    fn default() -> Self {
        Self { seconds: [SecondCounts::default(); KEPT], newest: 0 }
    }
}

impl WindowCounts {
    /// The second that is under way.
    pub(crate) const fn current(&mut self) -> &mut SecondCounts {
        &mut self.seconds[self.newest]
    }

    /// Begins a second.
    pub(crate) fn turn(&mut self) {
        self.newest = (self.newest + 1) % KEPT;
        self.seconds[self.newest] = SecondCounts::default();
    }

    /// The sum of so many seconds up to the one under way, which counts too when it is `over`.
    pub(crate) fn sum(&self, seconds: u32, over: bool) -> SecondCounts {
        let back = (0..KEPT).map(|back| self.seconds[(self.newest + KEPT - back) % KEPT]);
        back.skip(usize::from(!over))
            .take(seconds as usize)
            .fold(SecondCounts::default(), |sum, one| sum.plus(&one))
    }
}

impl SecondCounts {
    fn plus(&self, other: &Self) -> Self {
        Self {
            lines: self.lines + other.lines,
            behind: self.behind + other.behind,
            failed: self.failed + other.failed,
            numbered: self.numbered + other.numbered,
            first: self.first + other.first,
            first_followed: self.first_followed + other.first_followed,
            first_again: self.first_again + other.first_again,
            followed: self.followed + other.followed,
            by_id: self.by_id + other.by_id,
            after_failure: self.after_failure + other.after_failure,
            after_success: self.after_success + other.after_success,
            failing_time: self.failing_time + other.failing_time,
            served_time: self.served_time + other.served_time,
        }
    }

    /// Attempts, those behind a proxy's lines included.
    pub(crate) fn attempts(&self) -> f64 {
        self.lines + self.behind
    }

    /// Lines of attempts that were served.
    pub(crate) fn served(&self) -> f64 {
        self.lines - self.failed
    }
}
