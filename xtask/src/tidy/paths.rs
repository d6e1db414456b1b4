//! Paths that exist on one machine only.

use super::finding::StyleFinding;

/// The folders at the root of a machine that hold somebody's own files.
const FOLDERS: [&str; 4] = ["home", "root", "work", "tmp"];

/// Every such path in text that is not a script; other projects' vectors are theirs.
pub(super) fn check(texts: &[(String, String)]) -> Vec<StyleFinding> {
    let judged = |(path, text): &&(String, String)| {
        !path.starts_with("vectors/") && !text.starts_with("#!/")
    };
    texts.iter().filter(judged).flat_map(|(path, text)| lines(path, text)).collect()
}

fn lines(path: &str, text: &str) -> Vec<StyleFinding> {
    let finding = |(line, n)| {
        let folder = FOLDERS.iter().find(|folder| names(line, folder))?;
        Some(StyleFinding::new(path, n, format!("/{folder} is a path of one machine")))
    };
    text.lines().zip(1..).filter_map(finding).collect()
}

/// Whether `/folder/` starts a path here, rather than going on inside one or inside a URL.
fn names(line: &str, folder: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || "._-~}>)*".contains(c);
    line.match_indices(&format!("/{folder}/")).any(|(at, _)| !line[..at].ends_with(goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, line: &str) -> usize {
        check(&[(path.to_owned(), line.to_owned())]).len()
    }

    #[test]
    fn a_path_of_one_machine_is_found_and_a_part_of_a_url_is_not() {
        for folder in FOLDERS {
            assert_eq!(count("README.md", &format!("see `/{folder}/me/notes`")), 1);
            assert_eq!(count("README.md", &format!("https://example.org/{folder}/me")), 0);
            assert_eq!(count("vectors/a.json", &format!("/{folder}/me")), 0);
            assert_eq!(count("run", &format!("#!/bin/sh\nls /{folder}/me")), 0);
        }
    }
}
