//! The width of a text, near enough, in whatever font draws it.

/// The width in points. A bound from above for the usual sans-serif fonts, so that nothing meets.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(share).sum::<f64>() * size
}

/// The width of a character in sizes of the font.
fn share(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'f' | 't' | 'r' | '.' | ',' | ':' | '\'' | ' ' | '|' | '-' => 0.36,
        '\u{202f}' => 0.2,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '—' => 0.92,
        'A'..='Z' => 0.68,
        _ => 0.6,
    }
}

/// The text, cut off with an ellipsis where it is wider than this.
pub(super) fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut left = most - share('…') * size;
    let fits = |c: &char| {
        left -= share(*c) * size;
        left >= 0.0
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// The text in lines of at most this width, broken at blanks.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size * 0.36 <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_does_not_fit_says_so() {
        assert_eq!(shortened("full, breaker", 12.0, 100.0), "full, breaker");
        let short = shortened("full, breaker per host, 50 %", 12.0, 100.0);
        assert!(short.starts_with("full, b") && short.ends_with('…'), "{short}");
        assert!(width(&short, 12.0) <= 100.0);
    }

    #[test]
    fn long_text_is_broken_at_blanks_and_nothing_is_lost() {
        let text = "Attempts in 50 ms around the outage, for everybody who retries at all.";
        let lines = wrapped(text, 12.0, 150.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 150.0));
        assert_eq!(lines.join(" "), text);
    }
}
