//! All files of the workspace: Rust files as sources, the others as text.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;

use super::source::SourceFile;
use super::test_files;

/// All files of the workspace.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) sources: Vec<SourceFile>,
    /// Path and text of every file that is readable as text, Rust files included.
    pub(super) texts: Vec<(String, String)>,
}

impl Tree {
    /// Reads everything below `root`, sorted by path.
    ///
    /// Folders are walked rather than asked from git, which refuses a clone that belongs to another
    /// user, as on many build machines.
    pub(super) fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        let mut tree = Self::default();
        walk(root, root, &mut tree.texts)?;
        tree.texts.sort();
        for (path, text) in tree.texts.iter().filter(|(path, _)| path.ends_with(".rs")) {
            tree.sources.push(SourceFile::parse(path, text)?);
        }
        test_files::mark(&mut tree.sources);
        Ok(tree)
    }
}

/// The hidden folders that belong to the project.
const HIDDEN: [&str; 3] = [".cargo", ".ci", ".config"];

fn walk(root: &Path, folder: &Path, texts: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && is_ours(&path) {
            walk(root, &path, texts)?;
        } else if kind.is_file()
            && entry.file_name() != ".git"
            && let Ok(text) = fs::read_to_string(&path)
        {
            let below = path.strip_prefix(root).unwrap_or(&path);
            texts.push((below.to_string_lossy().replace('\\', "/"), text));
        }
    }
    Ok(())
}

/// No hidden folder, and none that cargo or another tool marked as its cache.
fn is_ours(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let hidden = name.starts_with('.') && !HIDDEN.contains(&&*name);
    !hidden && name != "target" && !folder.join("CACHEDIR.TAG").exists()
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process;

    use super::*;

    #[test]
    fn caches_and_hidden_folders_are_not_ours() {
        let root = env::temp_dir().join(format!("stagger-tidy-{}", process::id()));
        let files = ["a.rs", ".ci/run", ".git/b.rs", ".idea/c.rs", "built/d.rs", "target/e.rs"];
        for file in files.iter().chain(&["built/CACHEDIR.TAG"]) {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("it is ours");
            fs::write(path, "").expect("it is ours");
        }
        let tree = Tree::read(&root).expect("all of it is valid");
        fs::remove_dir_all(&root).expect("it is ours");
        let found: Vec<_> = tree.texts.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(found, [".ci/run", "a.rs"]);
        assert_eq!(tree.sources.len(), 1);
    }
}
