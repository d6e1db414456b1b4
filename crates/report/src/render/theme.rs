//! The colours, in light and in dark.
//!
//! The colours of entries follow Okabe and Ito, "Color Universal Design" (2008), made darker or
//! lighter until each stands at 3 : 1 or more against its ground (WCAG 2.2, 1.4.11); text stands at
//! 4.5 : 1 or more (1.4.3).

use std::fmt::Write;

use crate::draw::Paint;
use crate::style::{Ink, Style};

/// One set of colours, as `#rrggbb`.
pub(super) struct Theme {
    pub(super) ground: &'static str,
    text: &'static str,
    soft: &'static str,
    waste: &'static str,
    accent: &'static str,
    rule: &'static str,
    shade: &'static str,
    never: &'static str,
    entries: [&'static str; 8],
}

pub(super) const LIGHT: Theme = Theme {
    ground: "#ffffff",
    text: "#1b1e24",
    soft: "#59606b",
    waste: "#a6abb4",
    accent: "#3d54c9",
    rule: "#dcdeda",
    shade: "#f7e6df",
    never: "#efefeb",
    entries: [
        "#cf5a00", "#0072b2", "#008f68", "#b5478a", "#a97000", "#6a4fc3", "#7a5230", "#6f7500",
    ],
};

pub(super) const DARK: Theme = Theme {
    ground: "#1b1e24",
    text: "#e7e9ed",
    soft: "#a0a7b3",
    waste: "#666d7a",
    accent: "#9aabff",
    rule: "#363b44",
    shade: "#43302b",
    never: "#2a2e36",
    entries: [
        "#ff8f45", "#5ab4f5", "#2fc795", "#ea93c6", "#e0a82e", "#b3a3fa", "#cfa884", "#bdbd4e",
    ],
};

/// Cells of a heat map from none healed to all, the same in light and in dark.
const HEALED: [&str; 5] = ["#a83416", "#e29367", "#eddcbd", "#a9c9e6", "#3f86c6"];
/// Text on them.
const ON_HEALED: [&str; 5] = ["#ffffff", "#1b1e24", "#1b1e24", "#1b1e24", "#ffffff"];

impl Theme {
    #[cfg(feature = "png")]
    pub(super) const fn color(&self, paint: Paint) -> &'static str {
        match paint {
            Paint::Ink(Ink::Text) => self.text,
            Paint::Ink(Ink::Soft) => self.soft,
            Paint::Ink(Ink::Waste) => self.waste,
            Paint::Ink(Ink::Accent) => self.accent,
            // OK because 3 bits index 8 colours.
            Paint::Ink(Ink::Entry(nth)) => self.entries[(nth & 7) as usize],
            Paint::Rule => self.rule,
            Paint::Shade => self.shade,
            Paint::Never => self.never,
            Paint::Healed(step) => HEALED[if step < 5 { step as usize } else { 4 }],
            Paint::OnHealed(step) => ON_HEALED[if step < 5 { step as usize } else { 4 }],
        }
    }

    fn variables(&self) -> String {
        let mut all = format!(
            "--ground:{};--text:{};--soft:{};--waste:{};--accent:{};--rule:{};--shade:{};--never:{}",
            self.ground,
            self.text,
            self.soft,
            self.waste,
            self.accent,
            self.rule,
            self.shade,
            self.never
        );
        for (nth, color) in self.entries.iter().enumerate() {
            // Writing into a string cannot fail.
            let _ = write!(all, ";--e{nth}:{color}");
        }
        all
    }
}

/// The class of a colour.
pub(super) fn class(paint: Paint) -> String {
    match paint {
        Paint::Ink(Ink::Text) => "text".into(),
        Paint::Ink(Ink::Soft) => "soft".into(),
        Paint::Ink(Ink::Waste) => "waste".into(),
        Paint::Ink(Ink::Accent) => "accent".into(),
        Paint::Ink(Ink::Entry(nth)) => format!("e{}", nth & 7),
        Paint::Rule => "rule".into(),
        Paint::Shade => "shade".into(),
        Paint::Never => "never".into(),
        Paint::Healed(step) => format!("h{step}"),
        Paint::OnHealed(step) => format!("on{step}"),
    }
}

/// The class of an entry's colour, for text beside pictures.
pub(crate) fn class_of(style: Style) -> String {
    format!("ink-{}", class(Paint::Ink(style.ink)))
}

/// The style sheet of every picture, for colours set on `root`.
pub(crate) fn css(root: &str) -> String {
    let mut css = format!(
        "{root}{{color-scheme:light dark;{}}}\n@media(prefers-color-scheme:dark){{{root}{{{}}}}}\n",
        LIGHT.variables(),
        DARK.variables()
    );
    let inks = ["text", "soft", "waste", "accent", "rule", "shade", "never"].map(str::to_owned);
    let entries = (0..8).map(|nth| format!("e{nth}"));
    for name in inks.into_iter().chain(entries) {
        // Writing into a string cannot fail.
        let _ =
            write!(css, ".chart .{name}{{--c:var(--{name})}}.ink-{name}{{color:var(--{name})}}");
    }
    for (step, (cell, on)) in HEALED.iter().zip(ON_HEALED).enumerate() {
        let _ = write!(css, ".chart .h{step}{{--c:{cell}}}.chart .on{step}{{--c:{on}}}");
    }
    css.push_str(SHAPES);
    css
}

const SHAPES: &str = "
.chart text{fill:var(--c);font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,\
sans-serif;font-variant-numeric:tabular-nums}
.chart .bold{font-weight:600}
.chart .line{fill:none;stroke:var(--c);stroke-linejoin:round}
.chart .dust{fill:none;stroke:var(--c);stroke-width:1.7;stroke-linecap:round}
.chart .area{fill:var(--c)}
.chart .faint{fill-opacity:.16}.chart .light{fill-opacity:.34}
";

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2).
    fn luminance(color: &str) -> f64 {
        let part = |at: usize| {
            let part = u8::from_str_radix(&color[at..at + 2], 16).expect("two hex digits");
            let share = f64::from(part) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { libm::pow((share + 0.055) / 1.055, 2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_stand_out_in_light_and_in_dark() {
        for theme in [LIGHT, DARK] {
            for text in [theme.text, theme.soft, theme.accent] {
                for ground in [theme.ground, theme.shade, theme.never] {
                    assert!(contrast(text, ground) >= 4.5, "{text} on {ground}");
                }
            }
            for entry in theme.entries {
                for ground in [theme.ground, theme.shade, theme.never] {
                    assert!(contrast(entry, ground) >= 3.0, "{entry} on {ground}");
                }
            }
        }
        // No-retry is soft, and what it wastes must not look like what it was served.
        for theme in [LIGHT, DARK] {
            assert!(contrast(theme.waste, theme.soft) >= 1.8, "{}", theme.waste);
            assert!(contrast(theme.waste, theme.ground) >= 1.8, "{}", theme.waste);
        }
        for (cell, on) in HEALED.iter().zip(ON_HEALED).take(4) {
            assert!(contrast(cell, on) >= 4.5, "{on} on {cell}");
        }
    }
}
