//! Units of time in logs.

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Unit {
    /// Nanoseconds in one.
    pub(crate) const fn nanos(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
            Self::Nanos => 1,
        }
    }

    /// The unit of this symbol: `s`, `ms`, `us` or `ns`.
    pub(crate) fn of_symbol(text: &str) -> Option<Self> {
        match text {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "us" => Some(Self::Micros),
            "ns" => Some(Self::Nanos),
            _ => None,
        }
    }

    /// The unit that a column's name promises: `latency_us`, `duration-seconds`, `ms`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let last = name.rsplit(['_', '-', '.', ' ']).next().unwrap_or(name);
        match last.to_ascii_lowercase().as_str() {
            "seconds" | "secs" | "sec" => Some(Self::Seconds),
            "millis" | "milliseconds" | "msec" => Some(Self::Millis),
            "micros" | "microseconds" | "usec" => Some(Self::Micros),
            "nanos" | "nanoseconds" | "nsec" | "nano" => Some(Self::Nanos),
            symbol => Self::of_symbol(symbol),
        }
    }
}
