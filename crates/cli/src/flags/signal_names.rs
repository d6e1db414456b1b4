//! Sets of signals by their names, as in `KILL,SEGV`.

use std::str::FromStr;

/// The signals that end a process, by the numbers that they have on every system that we know.
const NUMBERS: [(&str, i32); 12] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("FPE", 8),
    ("KILL", 9),
    ("SEGV", 11),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
];
/// Requests to end, and a reader that has gone: no failures of the command.
const ENDINGS: [i32; 5] = [1, 2, 3, 13, 15];

/// The signals that a flag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SignalNames {
    /// All that are failures.
    Failures,
    These(Vec<i32>),
}

impl SignalNames {
    /// Whether this one is among them.
    pub(crate) fn contains(&self, signal: i32) -> bool {
        match self {
            Self::Failures => !ENDINGS.contains(&signal),
            Self::These(signals) => signals.contains(&signal),
        }
    }
}

impl FromStr for SignalNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "any" {
            return Ok(Self::Failures);
        }
        text.split(',').map(number).collect::<Result<_, _>>().map(Self::These)
    }
}

/// The name of a signal in messages: `SIGKILL`, or its number.
pub(crate) fn signal_name(number: i32) -> String {
    match NUMBERS.iter().find(|(_, known)| *known == number) {
        Some((name, _)) => format!("SIG{name}"),
        None => format!("signal {number}"),
    }
}

fn number(text: &str) -> Result<i32, String> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let known = NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let plain = || text.parse::<i32>().ok().filter(|number| (1..=64).contains(number));
    known.or_else(plain).ok_or_else(|| {
        let names: Vec<&str> = NUMBERS.iter().map(|(name, _)| *name).collect();
        format!("{text:?}: must be one of {}, or a number from 1 to 64", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_somebody_asked_for_was_retried() {
        let any: SignalNames = "any".parse().unwrap();
        assert!(any.contains(9) && any.contains(11) && any.contains(7));
        assert!(!any.contains(2) && !any.contains(13) && !any.contains(15));
        let named: SignalNames = "KILL,SIGTERM,7".parse().unwrap();
        assert!(named.contains(9) && named.contains(15) && named.contains(7));
        assert!(!named.contains(11));
        assert!("NONSENSE".parse::<SignalNames>().is_err());
        assert_eq!((signal_name(9), signal_name(40)), ("SIGKILL".into(), "signal 40".into()));
    }
}
