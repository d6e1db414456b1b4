//! Sets of exit codes, as in `1,3-9`.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// The exit codes that a flag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExitCodes(Vec<RangeInclusive<u8>>);

impl ExitCodes {
    /// Whether this one is among them.
    pub(crate) fn contains(&self, code: u8) -> bool {
        self.0.iter().any(|range| range.contains(&code))
    }
}

impl FromStr for ExitCodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

fn range(text: &str) -> Result<RangeInclusive<u8>, String> {
    let code = |text: &str| {
        let code = text.trim().parse::<u8>().ok().filter(|code| *code > 0);
        code.ok_or_else(|| {
            format!("{text:?}: exit codes of failures are from 1 to 255, as in 1,3-9")
        })
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (code(first)?, code(last)?);
    if first > last {
        return Err(format!("{text:?}: a range begins with the smaller code"));
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_left_out_its_ends() {
        let codes: ExitCodes = "1,3-9".parse().unwrap();
        let held: Vec<u8> = (0..=255).filter(|code| codes.contains(*code)).collect();
        assert_eq!(held, [1, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn what_is_no_set_of_failures_is_refused() {
        for text in ["", "0", "256", "-1", "9-3", "1,,2", "one", "1-"] {
            assert!(text.parse::<ExitCodes>().is_err(), "{text}");
        }
    }
}
