//! Links of the pages: each leads to a page of the site, to a file that is copied, or to the repository.

use std::path::Path;

/// The place of files that are not part of the site.
const REPOSITORY: &str = "https://github.com/stagger-rs/stagger";

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// Another server, or anything else with a scheme.
    Elsewhere,
    /// A heading of this page or of another one, by the path of its text below docs/.
    Page { path: String, heading: Option<String> },
    /// A file below docs/ that is copied.
    File(String),
    /// A file or folder of the repository, outside of the site.
    Repository { path: String, is_folder: bool },
    /// Nothing: no such file.
    Missing(String),
}

impl LinkTarget {
    /// The target of `link` on the page with this path below docs/.
    pub(super) fn of(root: &Path, page: &str, link: &str) -> Self {
        if link.contains("://") || link.starts_with("mailto:") {
            return Self::Elsewhere;
        }
        let (file, heading) = match link.split_once('#') {
            Some((file, heading)) => (file, Some(heading.to_owned())),
            None => (link, None),
        };
        if file.is_empty() {
            return Self::Page { path: page.to_owned(), heading };
        }
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        let Some(path) = joined(&format!("docs/{folder}"), file) else {
            return Self::Missing(link.to_owned());
        };
        let place = root.join(&path);
        match path.strip_prefix("docs/") {
            _ if !place.exists() => Self::Missing(link.to_owned()),
            Some(below) if below.ends_with(".md") => Self::Page { path: below.to_owned(), heading },
            Some(below) if place.is_file() => Self::File(below.to_owned()),
            _ => Self::Repository { path, is_folder: place.is_dir() },
        }
    }

    /// The link as the site has it, where it was `link` in the text.
    pub(super) fn href(&self, link: &str) -> String {
        match self {
            Self::Page { .. } => link.replacen(".md", ".html", 1),
            Self::Repository { path, is_folder } => {
                let kind = if *is_folder { "tree" } else { "blob" };
                format!("{REPOSITORY}/{kind}/main/{path}")
            }
            Self::Elsewhere | Self::File(_) | Self::Missing(_) => link.to_owned(),
        }
    }
}

/// `link` seen from `folder`, without `.` and `..`; `None` if it leads out of the repository.
fn joined(folder: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(link.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_files_and_the_repository() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let href = |page, link| LinkTarget::of(&root, page, link).href(link);
        assert_eq!(href("guides/slo.md", "../policy.md#limits"), "../policy.html#limits");
        assert_eq!(href("dispatcher.md", "receiver.py"), "receiver.py");
        assert_eq!(
            href("lint.md", "../LICENSE-MIT"),
            format!("{REPOSITORY}/blob/main/LICENSE-MIT")
        );
        assert_eq!(
            href("lint.md", "../crates/core"),
            format!("{REPOSITORY}/tree/main/crates/core")
        );
        assert_eq!(href("lint.md", "https://example.com/a.md"), "https://example.com/a.md");
        assert_eq!(href("lint.md", "#exit"), "#exit");
    }

    #[test]
    fn a_link_to_nothing_is_missing() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for link in ["no-such-page.md", "../no/such/file", "../../outside"] {
            assert_eq!(
                LinkTarget::of(&root, "lint.md", link),
                LinkTarget::Missing(link.to_owned())
            );
        }
    }
}
