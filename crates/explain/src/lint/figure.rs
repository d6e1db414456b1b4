//! Spans as they stand in the fixes of messages.

use stagger_core::Span;

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
    fn spans_are_rounded_down_and_never_to_nothing() {
        let rounded = |nanos| rounded_down(Span::from_nanos(nanos)).to_string();
        assert_eq!(rounded(1_666_666_666), "1.66s");
        assert_eq!(rounded(666_666_666), "666ms");
        assert_eq!(rounded(3), "3ns");
    }
}
