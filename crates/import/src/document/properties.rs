//! Java properties and variables of an environment: a key and a value on each line.

use super::tree::{SettingsDocument, TreeBuilder, lines};
use crate::ImportError;

pub(super) fn read(text: &str) -> Result<SettingsDocument, ImportError> {
    let mut tree = TreeBuilder::default();
    for (line, at) in lines(text).filter(|(line, _)| !line.starts_with(['#', '!'])) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let parts = parts(key.trim_end());
        let keys: Vec<&str> = parts.iter().map(String::as_str).collect();
        tree.add(&keys, value.trim().trim_matches(['"', '\'']), at)?;
    }
    Ok(SettingsDocument::new(tree.root.into(), tree.places))
}

/// The parts of a dotted key. Brackets keep the dots of a name, as Spring has it.
fn parts(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for c in key.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            '.' if !inside => parts.push(String::new()),
            c => parts.last_mut().expect("never empty").push(c),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_brackets_keeps_its_dots() {
        assert_eq!(parts("a.instances.[b.c].d"), ["a", "instances", "b.c", "d"]);
        let text = "# x\nexport AWS_MAX_ATTEMPTS='4'\na.b = 2";
        let document = read(text).expect("properties");
        assert_eq!(document.tree()["AWS_MAX_ATTEMPTS"], "4");
        assert_eq!(document.place("a.b").map(|at| &text[at]), Some("a.b = 2"));
        assert!(read("a.b=1\na.b.c=2").is_err());
    }
}
