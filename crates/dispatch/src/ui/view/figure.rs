//! Numbers as people read them.

/// Groups of three digits, kept apart and together by narrow no-break spaces: `1 204 311`.
pub(in crate::ui) fn figure(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes: `812 B`, `3 KiB`, `2 MiB`, rounded down.
pub(in crate::ui) fn bytes(n: usize) -> String {
    match n {
        0..1_024 => format!("{n} B"),
        1_024..1_048_576 => format!("{} KiB", n / 1_024),
        _ => format!("{} MiB", n / 1_048_576),
    }
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
    fn groups_begin_at_the_right() {
        let plain = |n| figure(n).replace('\u{202f}', " ");
        assert_eq!(plain(0), "0");
        assert_eq!(plain(999), "999");
        assert_eq!(plain(1_000), "1 000");
        assert_eq!(plain(12_345_678), "12 345 678");
        assert_eq!(bytes(2_000), "1 KiB");
    }
}
