//! Figures as they stand in messages.

use stagger_core::Span;

/// A share in percent, with a decimal where it is small.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 || percent == 0.0 {
        format!("{percent:.0} %")
    } else if percent >= 0.1 {
        format!("{percent:.1} %")
    } else {
        "less than 0.1 %".to_owned()
    }
}

/// A rate or a count, without more digits than anybody reads.
pub(super) fn count(number: f64) -> String {
    if number >= 10.0 || number == libm::trunc(number) {
        format!("{number:.0}")
    } else {
        format!("{number:.1}")
    }
}

/// A span to be written into a policy: no longer, and without digits that nobody would write.
pub(super) fn rounded_down(span: Span) -> Span {
    let unit =
        if span >= Span::from_secs(1) { Span::from_millis(10) } else { Span::from_millis(1) };
    if span < Span::from_millis(10) {
        return span;
    }
    Span::from_nanos(span.as_nanos() / unit.as_nanos() * unit.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_are_not_shown_as_none() {
        assert_eq!(
            [0.0, 0.0004, 0.004, 0.25, 1.0].map(percent),
            ["0 %", "less than 0.1 %", "0.4 %", "25 %", "100 %"]
        );
        assert_eq!([0.5, 3.0, 12.6].map(count), ["0.5", "3", "13"]);
    }

    #[test]
    fn spans_are_rounded_down_and_never_to_nothing() {
        let rounded = |nanos| rounded_down(Span::from_nanos(nanos)).to_string();
        assert_eq!(rounded(1_666_666_666), "1.66s");
        assert_eq!(rounded(666_666_666), "666ms");
        assert_eq!(rounded(3), "3ns");
    }
}
