//! The report for people: figures first, then what is wrong, then the verdict.

use std::fmt;

use super::report::{Check, TidyReport};
use super::sizes::Spread;

impl fmt::Display for TidyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:48} {:>6} {:>6} {:>6} {:>6}",
            "lines that ship", "count", "med", "p90", "max"
        )?;
        spread(f, "files (aim 120, 300; tripwire 500)", &self.sizes.files)?;
        spread(f, "functions (aim 7, 25; tripwire 70)", &self.sizes.functions)?;
        let (all, relative) = (self.openings.first_lines, self.openings.relative.len());
        writeln!(
            f,
            "{:48} {all:>6} of which {relative} open with a relative clause",
            "first lines"
        )?;
        for waived in &self.sizes.waived {
            writeln!(f, "  long because: {waived}")?;
        }
        for check in &self.checks {
            let Check { name, findings, allowed } = check;
            let most = if *allowed > 0 { format!(" at most {allowed}") } else { String::new() };
            writeln!(f, "{name:48} {:>6}{most}", findings.len())?;
        }
        for check in self.checks.iter().filter(|check| !check.is_clean()) {
            check.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))?;
        }
        writeln!(f, "{}", if self.is_clean() { "tidy" } else { "not tidy" })
    }
}

fn spread(f: &mut fmt::Formatter<'_>, name: &str, spread: &Spread) -> fmt::Result {
    let Spread { count, median, p90, max, longest } = spread;
    writeln!(f, "{name:48} {count:>6} {median:>6} {p90:>6} {max:>6}  {longest}")
}
