//! Whether lines come in the order of time.

use stagger_core::Span;

use crate::logged_attempt::LoggedAttempt;

/// A line that is older than another before it by no more is in order: workers flush their buffers this
/// late (nginx's `flush` and Envoy's flush interval are a second to a few).
pub(crate) const LATE: Span = Span::from_secs(5);

/// The newest times so far, and the lines that were older.
///
/// A log is in the order of starts or in that of ends, so a line is late only by both.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineOrder {
    began: Span,
    ended: Span,
    late: u64,
}

impl LineOrder {
    /// Counts an attempt, and returns whether it is late.
    pub(crate) fn is_late(&mut self, attempt: &LoggedAttempt) -> bool {
        let (began, ended) = (attempt.began(), attempt.ended());
        let is_late = began + LATE < self.began && ended + LATE < self.ended;
        self.began = self.began.max(began);
        self.ended = self.ended.max(ended);
        self.late += u64::from(is_late);
        is_late
    }

    pub(crate) const fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logged_attempt;

    fn late(attempts: &[(u64, u64)]) -> Vec<bool> {
        let mut order = LineOrder::default();
        let at = |&(began, took): &(u64, u64)| LoggedAttempt {
            took: Some(Span::from_secs(took)),
            ..logged_attempt::at(Span::from_secs(began))
        };
        attempts.iter().map(|attempt| order.is_late(&at(attempt))).collect()
    }

    #[test]
    fn a_log_in_the_order_of_starts_or_of_ends_has_no_late_line() {
        assert_eq!(late(&[(10, 0), (11, 30), (12, 0), (13, 0)]), [false; 4]);
        assert_eq!(late(&[(10, 0), (20, 0), (5, 16), (22, 0)]), [false; 4]);
        assert_eq!(late(&[(10, 0), (20, 0), (14, 0), (15, 0)]), [false, false, true, false]);
    }
}
