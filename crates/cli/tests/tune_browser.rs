//! The page of `stagger tune` in a real browser. Runs if `STAGGER_TEST_CHROMIUM` names a folder for pictures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use stagger_testkit::Browser;

#[path = "browser/page_checks.rs"]
mod page_checks;

use page_checks::{Folder, SCROLLED, UNREACHED};

/// A desktop's window and a phone's.
const WINDOWS: [(u32, &str); 3] = [(1280, "light"), (1280, "dark"), (390, "light")];

/// An outage whose front has several rows, and a permanent one with nothing to gain.
const ARGUMENTS: [&[&str]; 2] = [
    &["--load", "6", "--capacity", "100", "--outage", "failing:40%=5s..20s", "--p99", "1s"],
    &["--load", "4", "--capacity", "100", "--outage", "down=forever", "--processes", "3"],
];

/// The parts of the page whose content is wider than they are, other than those that scroll by themselves, and
/// the column of text, which the frames of tables stand out of. Texts of pictures have no width of their own.
const CUT: &str = "[...document.querySelectorAll('body *')]
    .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
    .filter((e) => !e.classList.contains('scroll') && !['MAIN', 'PRE'].includes(e.tagName))
    .filter((e) => !(e instanceof SVGElement))
    .map((e) => e.outerHTML.slice(0, 120))";

fn page(folder: &Path, number: usize, arguments: &[&str]) -> String {
    let name = format!("page-{number}.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command
        .args(["tune", "--events", "4000000", "--format", "toml"])
        .args(arguments)
        .args(["--html", &name])
        .current_dir(folder);
    let output = command.output().expect("the binary was built for this test");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    format!("file://{}", folder.join(name).display())
}

#[test]
fn the_page_fits_into_a_desktop_and_a_phone() {
    let Some(pictures) = std::env::var_os("STAGGER_TEST_CHROMIUM").map(PathBuf::from) else {
        return;
    };
    fs::create_dir_all(&pictures).expect("a folder for pictures");
    let name = format!("stagger-tune-page-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    fs::create_dir_all(&folder.0).expect("a temporary folder");
    let mut browser = Browser::start(&folder.0.join("profile"));
    for (number, arguments) in ARGUMENTS.into_iter().enumerate() {
        let url = page(&folder.0, number, arguments);
        for (width, scheme) in WINDOWS {
            let place = format!("{arguments:?} in {width} px, {scheme}");
            browser.set_window(width, scheme);
            browser.visit(&url);
            let room = "[document.documentElement.scrollWidth, innerWidth]";
            let room = browser.eval(room);
            assert_eq!(room[1], width, "{place}");
            assert!(room[0].as_u64() <= room[1].as_u64(), "{place} needs {}", room[0]);
            assert_eq!(browser.eval(CUT), json!([]), "{place}");
            if width == 1280 {
                assert_eq!(browser.eval(SCROLLED), json!([]), "{place}");
            }
            assert_eq!(browser.eval(UNREACHED), json!([]), "{place}");
            assert_eq!(browser.pale(), json!([]), "{place}");
            assert_eq!(browser.problems(), [""; 0], "{place}");
            let file = pictures.join(format!("tune-{number}-{width}-{scheme}.png"));
            fs::write(file, browser.picture()).expect("a picture");
        }
    }
}
