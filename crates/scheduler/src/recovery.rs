//! The rate of a recovery at a moment: the speed at which a backlog is sent.

use stagger_core::Span;

use crate::model::Recovery;

/// Parts of one attempt: rates are counted in millionths of an attempt a second.
pub(super) const MICROS: u64 = 1_000_000;

/// The slowest start is a hundredth of the rate at the end of the first stretch: a start from nothing
/// would never let the first attempt go.
const SLOWEST_START: u128 = 100;

/// Millionths of an attempt that may be made a second, `elapsed` into a recovery; never zero, and
/// saturating.
pub(super) fn rate(recovery: &Recovery, elapsed: Span) -> u64 {
    let full = u128::from(recovery.rate.get()) * u128::from(MICROS);
    let over = u128::from(recovery.over.as_nanos());
    let gone = u128::from(elapsed.as_nanos());
    let Some(stretch) = gone.checked_div(over) else { return u64::MAX };
    let into = gone - stretch * over;
    let (from, to) = match u32::try_from(stretch).map(|stretch| stretch.checked_sub(1)) {
        Ok(None) => (start(recovery, full), full),
        // 64 doublings of any rate are beyond every count.
        Ok(Some(doublings)) if doublings < 64 => (full << doublings, full << (doublings + 1)),
        _ => return u64::MAX,
    };
    // A start above the end of the stretch is held until the end has caught up.
    let rate = from + to.saturating_sub(from).saturating_mul(into) / over;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The time between two attempts at `rate`, rounded up.
pub(super) fn interval(rate: u64) -> Span {
    let micro_nanos = Span::from_secs(1).as_nanos() * MICROS;
    Span::from_nanos(micro_nanos.div_ceil(rate.max(1)))
}

fn start(recovery: &Recovery, full: u128) -> u128 {
    let share = full * u128::from(recovery.from.ppm()) / u128::from(stagger_core::Ratio::SCALE);
    share.max(full / SLOWEST_START)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stagger_core::Ratio;
    use std::num::NonZeroU32;

    fn at(secs: u64) -> u64 {
        rate(&Recovery::default(), Span::from_secs(secs)) / MICROS
    }

    #[test]
    fn a_backlog_is_not_let_loose_at_once() {
        assert_eq!([0, 5, 10, 15, 20, 30, 40].map(at), [10, 55, 100, 150, 200, 400, 800]);
    }

    #[test]
    fn settings_at_their_edges_neither_stop_a_queue_nor_overflow() {
        let rate_of = |from, rate, over, elapsed| {
            let rate_to = NonZeroU32::new(rate).unwrap();
            super::rate(&Recovery { from, rate: rate_to, over }, elapsed)
        };
        assert_eq!(rate_of(Ratio::ZERO, 1, Span::MAX, Span::ZERO), MICROS / 100);
        assert_eq!(rate_of(Ratio::ONE, 7, Span::ZERO, Span::ZERO), u64::MAX);
        assert_eq!(rate_of(Ratio::ONE, u32::MAX, Span::from_nanos(1), Span::MAX), u64::MAX);
        let double = Ratio::from_percent(200);
        assert_eq!(rate_of(double, 10, Span::from_secs(1), Span::from_millis(999)), 20 * MICROS);
        assert_eq!(interval(u64::MAX), Span::from_nanos(1));
        assert_eq!(interval(3 * MICROS), Span::from_nanos(333_333_334), "never above the rate");
    }

    proptest! {
        #[test]
        fn the_rate_is_the_one_a_float_would_give(
            from in 1_u32..=100,
            full in 1_u32..1_000,
            over in 1_u32..100,
            elapsed in 0_u32..1_000,
        ) {
            let recovery = Recovery {
                from: Ratio::from_percent(from),
                rate: NonZeroU32::new(full).unwrap(),
                over: Span::from_secs(over.into()),
            };
            let got = rate(&recovery, Span::from_secs(elapsed.into()));
            let (full, turn) = (f64::from(full), f64::from(elapsed) / f64::from(over));
            let naive = if turn < 1.0 {
                let from = f64::from(from) / 100.0;
                full * (from + (1.0 - from) * turn)
            } else {
                let low = full * 2_f64.powf(turn.floor() - 1.0);
                low + low * turn.fract()
            };
            // Above that a float of thousandths would not be exact; the doublings are tested by then.
            if let Ok(thousandths) = u32::try_from(got / 1_000) {
                let got = f64::from(thousandths) / 1_000.0;
                prop_assert!((got - naive).abs() <= naive * 1e-9 + 0.002, "{got} {naive}");
            } else {
                prop_assert!(naive > 4e6, "{got} {naive}");
            }
        }
    }
}
