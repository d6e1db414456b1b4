//! Arguments are the command's, byte for byte.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::tool::{run, tool};

#[test]
fn a_shell_nobody_asked_for_took_the_arguments_apart() {
    let end = run(&["--", "printf", "%s|", "a b", "", "; echo hi", "$HOME", "*", "--attempts"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "a b||; echo hi|$HOME|*|--attempts|"));
}

#[test]
fn a_name_that_is_not_utf_8_was_refused_or_mended() {
    let bytes: Vec<u8> = (1..=255).collect();
    let output = tool(&["--", "printf", "%s"])
        .arg(OsStr::from_bytes(&bytes))
        .output()
        .expect("the binary was built for this test");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, bytes);
}

#[test]
fn a_shell_that_was_asked_for_got_more_than_its_string() {
    let end = run(&["--shell", "--", "printf '%s|' a b | tr '|' '+'"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "a+b+"));
    let end = run(&["--shell", "--", "echo", "two"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""));
    assert!(end.stderr.contains("--shell takes one string"), "{}", end.stderr);
}
