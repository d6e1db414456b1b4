//! Broken lines as pieces, for who draws whole lines only.

/// The pieces of a line of this width with round ends. `pattern` is what is drawn and what is left
/// out by turns, as in SVG; the round ends belong to what is drawn.
pub(super) fn pieces(points: &[(f64, f64)], pattern: &[f64], width: f64) -> Vec<Vec<(f64, f64)>> {
    let length = |nth: usize| match nth.is_multiple_of(2) {
        true => (pattern[nth % pattern.len()] - width).max(DOT),
        false => pattern[nth % pattern.len()] + width,
    };
    let (mut nth, mut left) = (0, length(0));
    let mut all = Vec::new();
    let mut piece: Vec<(f64, f64)> = points.first().copied().into_iter().collect();
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        let mut rest = libm::hypot(to.0 - from.0, to.1 - from.1);
        while rest > left {
            let share = left / rest;
            from = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
            rest -= left;
            if nth % 2 == 0 {
                piece.push(from);
                all.push(std::mem::take(&mut piece));
            } else {
                piece = vec![from];
            }
            nth += 1;
            left = length(nth);
        }
        left -= rest;
        if nth % 2 == 0 {
            piece.push(to);
        }
    }
    all.extend((piece.len() > 1).then_some(piece));
    all
}

/// The rest of a piece that is all ends.
const DOT: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_short_steps_is_broken_as_one_of_a_single_step_is() {
        let ends = |pieces: Vec<Vec<(f64, f64)>>| -> Vec<(f64, f64)> {
            let hundredth = |at: f64| libm::round(at * 100.0) / 100.0;
            let ends = |piece: &Vec<(f64, f64)>| {
                Some((hundredth(piece.first()?.0), hundredth(piece.last()?.0)))
            };
            pieces.iter().filter_map(ends).collect()
        };
        let expected = [(0.0, 5.0), (9.0, 14.0), (18.0, 20.0)];
        assert_eq!(ends(pieces(&[(0.0, 0.0), (20.0, 0.0)], &[6.0, 3.0], 1.0)), expected);
        let steps: Vec<(f64, f64)> = (0..=80).map(|nth| (f64::from(nth) / 4.0, 0.0)).collect();
        assert_eq!(ends(pieces(&steps, &[6.0, 3.0], 1.0)), expected);
        assert_eq!(ends(pieces(&steps[..5], &[1.0, 1.0], 2.0)), [(0.0, 0.1)]);
        assert!(pieces(&[], &[1.0, 1.0], 1.0).is_empty());
    }
}
