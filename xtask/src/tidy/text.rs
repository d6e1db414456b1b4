//! The report for people: figures first, then what is wrong, then the verdict.

use std::fmt;

use super::openings::Openings;
use super::report::{Check, TidyReport};
use super::sizes::{CrateSize, Spread};

impl fmt::Display for TidyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:48} {:>6} {:>6} {:>6} {:>6}",
            "lines that ship", "count", "med", "p90", "max"
        )?;
        spread(f, "files (aim 120, 300; tripwire 500)", &self.sizes.files)?;
        spread(f, "functions (aim 7, 25; tripwire 70)", &self.sizes.functions)?;
        writeln!(f, "{:48} {:>6}", "files under 40 lines", self.sizes.small_files)?;
        let Openings { first_lines: all, relative_percent, relative } = &self.openings;
        let relative = relative.len();
        writeln!(
            f,
            "{:48} {all:>6} of which {relative} ({relative_percent} %) open with a relative clause",
            "first lines"
        )?;
        for CrateSize { folder, lines, files } in &self.sizes.crates {
            writeln!(f, "  {folder:46} {lines:>6} in {files} files")?;
        }
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
