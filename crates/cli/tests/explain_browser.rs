//! The page of `stagger explain` in a real browser. Runs if `STAGGER_TEST_CHROMIUM` names a folder for pictures.

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

/// A policy that fills every part of the page: both time lines, twenty attempts, each kind of finding.
const WIDEST: &str = "\
[policy.a-name-that-is-as-long-as-those-that-people-give-to-their-policies-in-large-programs]
backoff = { base = '123.456789ms', cap = '86399.999999s', jitter = 'none' }
throttled_backoff = { base = '1.234567s', cap = '24h' }
limits = { max_attempts = 20, attempt_timeout = '9.876543s' }
[policy.b.breaker]
ratio = 0.01
minimum_calls = 1
";

const ARGUMENTS: [&[&str]; 3] = [
    &["--preset", "aws-standard", "--slo", "2s"],
    &["--preset", "webhook", "--rps", "50", "--fleet", "40", "--downstream-capacity", "1000"],
    &["widest.toml", "--slo", "2s"],
];

/// The parts of the page whose content is wider than they are, other than those that scroll by themselves.
const CUT: &str = "[...document.querySelectorAll('body *')]
    .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
    .filter((e) => !e.classList.contains('scroll'))
    .map((e) => e.outerHTML.slice(0, 120))";

fn page(folder: &Path, number: usize, arguments: &[&str]) -> String {
    let name = format!("page-{number}.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.arg("explain").args(arguments).args(["--html", &name]).current_dir(folder);
    let output = command.output().expect("the binary was built for this test");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // 1 where there are errors among the findings.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {errors}");
    format!("file://{}", folder.join(name).display())
}

#[test]
fn the_page_fits_into_a_desktop_and_a_phone() {
    let Some(pictures) = std::env::var_os("STAGGER_TEST_CHROMIUM").map(PathBuf::from) else {
        return;
    };
    fs::create_dir_all(&pictures).expect("a folder for pictures");
    let name = format!("stagger-explain-page-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    fs::create_dir_all(&folder.0).expect("a temporary folder");
    fs::write(folder.0.join("widest.toml"), WIDEST).expect("written");
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
            let file = pictures.join(format!("explain-{number}-{width}-{scheme}.png"));
            fs::write(file, browser.picture()).expect("a picture");
        }
    }
}
