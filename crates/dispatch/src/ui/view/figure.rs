//! Numbers as people read them.

use stagger_text::{NARROW_NO_BREAK, whole};

/// Groups of three digits, kept apart and together by narrow no-break spaces: `1 204 311`. The script of
/// the page writes its figures by the same rule.
pub(in crate::ui) fn figure(n: u64) -> String {
    whole(n, NARROW_NO_BREAK)
}

/// The number of deliveries in a state.
#[derive(Clone, Debug)]
pub(in crate::ui) struct Tile {
    pub(in crate::ui) name: &'static str,
    pub(in crate::ui) count: String,
    pub(in crate::ui) href: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_breaks_no_line() {
        assert_eq!([0, 1_000, 12_345_678].map(figure), ["0", "1000", "12\u{202f}345\u{202f}678"]);
    }
}
