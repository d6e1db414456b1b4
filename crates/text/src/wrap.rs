//! Sentences in lines.

/// The text in lines of at most so many columns; a longer word has a line of its own.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        let Some(line) = lines.last_mut() else { break };
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines
}

/// The text in lines of at most so many columns, all but the first indented.
#[must_use]
pub fn hanging(text: &str, width: usize, indent: usize) -> String {
    wrapped(text, width.saturating_sub(indent)).join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_count_characters() {
        assert_eq!(wrapped("ab cd é f", 5), ["ab cd", "é f"]);
        assert_eq!(wrapped("longer than five", 5), ["longer", "than", "five"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
