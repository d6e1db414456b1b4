//! The manual pages.

use std::fs;

use crate::completions::flags;
use crate::tool::{COMMANDS, folder, printed, stagger, system};

#[test]
fn there_is_a_page_for_each_command_with_all_of_its_flags() {
    let folder = folder("man");
    let place = folder.join("man1");
    assert_eq!(printed(&["man", "--dir", &place.display().to_string()]), "");
    assert_eq!(fs::read_dir(&place).expect("made").count(), 1 + COMMANDS.len());
    for command in COMMANDS {
        let page = place.join(format!("stagger-{}.1", command.replace(' ', "-")));
        let page = fs::read_to_string(&page).expect("a page for it");
        assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{command}");
        for flag in flags(&command.split(' ').collect::<Vec<_>>()) {
            assert!(page.contains(&flag.replace('-', "\\-")), "{command}: {flag}");
        }
    }
    let first = fs::read_to_string(place.join("stagger.1")).expect("the first page");
    assert_eq!(first, printed(&["man"]));
    for command in COMMANDS.into_iter().filter(|command| !command.contains(' ')) {
        assert!(first.contains(&format!("stagger\\-{command}(1)")), "{command}");
    }
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_page_reads_well_where_man_is_installed() {
    let Some((read, said)) = system("man", &["--warnings", "-l", "-"], &printed(&["man"])) else {
        return;
    };
    assert!(read && !said.contains("warning"), "{said}");
    // A machine may have man without the formatter behind it; then there is nothing to read.
    if said.contains("NAME") {
        assert!(said.contains("stagger - Retries that do not stampede"), "{said}");
        assert!(said.contains("\n  stagger demo ") || said.contains(" stagger demo "), "{said}");
    }
}

#[test]
fn a_folder_that_cannot_be_is_named_and_nothing_is_left() {
    let folder = folder("no-man");
    let file = folder.join("file");
    fs::write(&file, "kept").expect("writable");
    let place = file.join("man1");
    let output = stagger(&["man", "--dir", &place.display().to_string()]).output().expect("built");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with(&format!("error: cannot write {}: ", place.display())), "{said}");
    assert_eq!(fs::read(&file).expect("there"), b"kept");
    fs::remove_dir_all(folder).expect("ours");
}
