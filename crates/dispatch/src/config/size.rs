//! Sizes as people write them: `64MiB`, `1000`.

/// Units by their powers of 1024.
const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];

/// Bytes: a whole number, alone or right before `KiB`, `MiB` or `GiB`.
pub(super) fn parse(text: &str) -> Option<usize> {
    let unit = UNITS.iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?, *power)));
    let (digits, power) = unit.unwrap_or((text, 0));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<usize>().ok()?.checked_mul(1 << power)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_size_has_digits_and_at_most_one_unit() {
        assert_eq!(parse("64MiB"), Some(64 << 20));
        assert_eq!(parse("1000"), Some(1000));
        for wrong in ["", "MiB", "-1", "+1", "1.5MiB", "1MB", "1 MiB", "99999999999GiB"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
