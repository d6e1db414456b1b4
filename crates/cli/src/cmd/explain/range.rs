//! A range of spans as a bar in one line.

use stagger_core::Span;

/// The whole line.
const WIDTH: u64 = 18;

/// The bar from `from` to `to` with its mean marked, on a line that ends at `full`.
pub(super) fn range(from: Span, mean: Span, to: Span, full: Span) -> String {
    if full.is_zero() {
        return String::new();
    }
    let at = |span: Span| {
        let column =
            u128::from(span.as_nanos()) * u128::from(WIDTH - 1) / u128::from(full.as_nanos());
        u64::try_from(column).unwrap_or(WIDTH).min(WIDTH - 1)
    };
    let (from, mean, to) = (at(from), at(mean), at(to));
    let place = |column| match column {
        column if column == mean => '╋',
        column if (from..=to).contains(&column) => '━',
        _ => ' ',
    };
    (0..WIDTH).map(place).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_begins_and_ends_where_its_range_does() {
        let ms = Span::from_millis;
        assert_eq!(range(ms(0), ms(0), ms(0), ms(0)), "");
        assert_eq!(range(ms(0), ms(85), ms(170), ms(170)), "━━━━━━━━╋━━━━━━━━━");
        assert_eq!(range(ms(50), ms(100), ms(150), ms(170)), "     ━━━━━╋━━━━━");
        assert_eq!(range(Span::MAX, Span::MAX, Span::MAX, Span::MAX).trim(), "╋");
    }
}
