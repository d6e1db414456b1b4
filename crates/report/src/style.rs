//! The style of an entry, the same in every picture: a colour, a dash and a dot.

use stagger_sim::StormReport;

/// The style of a line, an area or a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Its colour.
    pub ink: Ink,
    /// The breaks of its line.
    pub dash: Dash,
    /// The dot on its points.
    pub dot: Dot,
}

/// A colour by its part in the picture; a theme says what it is in light and in dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The colour of text.
    Text,
    /// The colour of the background: axes, and the entry that never retries.
    Soft,
    /// The colour of wasted work.
    Waste,
    /// The one accent: limits, and what the picture is about.
    Accent,
    /// One of the colours of entries, from 0; only the lower 3 bits count.
    Entry(u8),
}

/// The breaks of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    Solid,
    /// Long pieces.
    Dashed,
    /// Points.
    Dotted,
    /// Long and short pieces.
    Mixed,
}

/// The dot on the points of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A cross.
    Cross,
}

/// The weight of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A spread behind a line.
    Faint,
    /// Light: it is there but does not count.
    Light,
    /// Heavy: it counts.
    Full,
}

/// The styles of all entries of a report, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Styles {
    names: Vec<String>,
}

/// The name of the entry that never retries, in every scenario.
pub(crate) const NO_RETRY: &str = "no-retry";

impl Style {
    /// The style of the entry that never retries: grey and dotted, because the others are measured by it.
    pub const NO_RETRY: Self = Self { ink: Ink::Soft, dash: Dash::Dotted, dot: Dot::Cross };
    /// A limit.
    pub const LIMIT: Self = Self { ink: Ink::Accent, dash: Dash::Dashed, dot: Dot::Disc };

    /// A plain solid style of this colour.
    #[must_use]
    pub const fn solid(ink: Ink) -> Self {
        Self { ink, dash: Dash::Solid, dot: Dot::Disc }
    }

    /// The style of the n-th entry: two of the first 40 differ in colour, dash or dot.
    #[must_use]
    pub const fn nth(n: usize) -> Self {
        const DASHES: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::Mixed, Dash::Dotted];
        const DOTS: [Dot; 5] = [Dot::Disc, Dot::Square, Dot::Triangle, Dot::Diamond, Dot::Cross];
        // OK because what is below 8 fits.
        #[expect(clippy::cast_possible_truncation, reason = "below 8")]
        let colour = (n % 8) as u8;
        Self { ink: Ink::Entry(colour), dash: DASHES[n / 8 % 4], dot: DOTS[n % 5] }
    }

    /// The same style without breaks.
    #[must_use]
    pub const fn unbroken(self) -> Self {
        Self { dash: Dash::Solid, ..self }
    }
}

impl Styles {
    /// The styles of these entries, in order.
    #[must_use]
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for name in names {
            if name != NO_RETRY && !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
        Self { names: all }
    }

    /// The style of this entry.
    #[must_use]
    pub fn get(&self, name: &str) -> Style {
        if name == NO_RETRY {
            return Style::NO_RETRY;
        }
        Style::nth(self.names.iter().position(|known| known == name).unwrap_or(self.names.len()))
    }
}

impl From<&StormReport> for Styles {
    fn from(report: &StormReport) -> Self {
        let rows = report.cases.iter().flat_map(|case| &case.rows);
        Self::of(rows.map(|row| row.name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_entries_look_alike() {
        let all: Vec<Style> = (0..32).map(Style::nth).chain([Style::NO_RETRY]).collect();
        for (index, style) in all.iter().enumerate() {
            assert!(!all[..index].contains(style), "{index}: {style:?}");
        }
    }

    #[test]
    fn an_entry_keeps_its_look_when_others_are_missing_from_a_case() {
        let styles = Styles::of(["no-retry", "none", "full", "none", "equal"]);
        assert_eq!(styles.get("no-retry"), Style::NO_RETRY);
        assert_eq!(styles.get("full"), Style::nth(1));
        assert_eq!(styles.get("equal"), Style::nth(2));
    }
}
