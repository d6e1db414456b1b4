//! Pages on narrow terminals, and pages that nobody can write.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::tool::{folder, stagger};

/// The output on a terminal of so many columns.
fn shown(args: &[&str], columns: u16) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("granted");
    unlockpt(&ours).expect("unlocked");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&ours, size).expect("a terminal has a size");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("ASCII");
    let theirs = File::options().read(true).write(true).open(&name).expect("it opens");
    let mut command = stagger(args);
    command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(theirs).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary was built for this test");
    drop(command);
    let mut page = Vec::new();
    // A terminal that nobody writes to any more is an error to its reader, and not an end.
    let _ = File::from(ours).read_to_end(&mut page);
    child.wait().expect("it ends");
    String::from_utf8_lossy(&page).replace('\r', "")
}

#[test]
fn explain_ignored_the_width_of_the_terminal() {
    let args = ["explain", "--preset", "aws-standard", "--slo", "1s", "--layers", "3"];
    for columns in [100, 80, 72, 50] {
        let page = shown(&args, columns);
        let widest = page.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= usize::from(columns), "{widest} of {columns}:\n{page}");
        assert!(page.contains("attempt") && page.contains("reached"), "{page}");
        assert!(page.contains("fix: "), "findings are there too: {page}");
    }
    // The preset has a second time line, for throttled attempts.
    let tables = |page: &str| page.lines().filter(|line| line.starts_with("attempt ")).count();
    assert_eq!([100, 80].map(|columns| tables(&shown(&args, columns))), [2, 4]);
    assert!(shown(&args, 72).contains('╋') && !shown(&args, 50).contains('╋'));
}

#[test]
fn a_help_that_could_not_be_written_was_a_success() {
    let full = || File::options().write(true).open("/dev/full").expect("Linux has one");
    let status = stagger(&["--help"]).stdout(full()).stderr(Stdio::null()).status();
    assert_eq!(status.expect("the binary was built for this test").code(), Some(1));
}

#[test]
fn a_name_of_a_policy_steered_the_terminal_and_a_page_became_a_file_named_hyphen() {
    let folder = folder("names");
    let file = folder.join("p.toml");
    std::fs::write(&file, "[policy.\"\\u001b[31mred\"]\n").expect("written");
    let file = file.display().to_string();
    let output = stagger(&["explain", &file]).output().expect("the binary was built for this test");
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("policy \\u{1b}[31mred") && !page.contains('\u{1b}'), "{page}");
    let args = ["explain", "--preset", "grpc", "--html", "-"];
    let hyphen = stagger(&args).current_dir(&folder).output().expect("built");
    assert_eq!(hyphen.status.code(), Some(2));
    assert!(!folder.join("-").exists());
    std::fs::remove_dir_all(folder).expect("ours");
}
