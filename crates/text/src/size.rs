//! Numbers of bytes as people write and read them: `64MiB`, `1000`.

/// Units by their names and powers of 1024; a letter alone is short for its unit.
const UNITS: [(&str, u32); 7] =
    [("KiB", 10), ("MiB", 20), ("GiB", 30), ("K", 10), ("M", 20), ("G", 30), ("B", 0)];

/// Bytes: a whole number, alone or right before `B`, `KiB`, `MiB` or `GiB`.
///
/// ```
/// use stagger_text::parse_size;
/// assert_eq!(parse_size("64KiB"), Some(65_536));
/// assert_eq!(parse_size("64 KB"), None);
/// ```
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?, *power)));
    let (digits, power) = unit.unwrap_or((text, 0));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << power)
}

/// A number of bytes in one unit, rounded down: `812 B`, `3 KiB`, `2 MiB`.
#[must_use]
pub fn shown_size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_digits_and_at_most_one_unit() {
        assert_eq!(parse_size("64MiB"), Some(64 << 20));
        assert_eq!(parse_size("1000"), Some(1000));
        assert_eq!((parse_size("2K"), parse_size("7B")), (Some(2_048), Some(7)));
        for wrong in ["", "B", "MiB", "-1", "+1", "1.5MiB", "1MB", "1 MiB", "1BB", "99999999999GiB"]
        {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_below_it() {
        assert_eq!([0, 1_023, 2_000, 3 << 20].map(shown_size), ["0 B", "1023 B", "1 KiB", "3 MiB"]);
    }
}
