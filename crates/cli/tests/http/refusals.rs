//! Refusals before anything is sent: one error, exit code 2.

use stagger_testkit::server::{BlockingServer, Reaction, Script};

use crate::command::HttpRun;

#[track_caller]
fn refused(args: &[&str], why: &str) {
    let came = HttpRun::of(args);
    assert_eq!((came.code, came.out.len()), (Some(2), 0), "{came:?}");
    assert!(came.told.starts_with(&format!("error: {why}")), "{}", came.told);
    assert_eq!(came.told.matches("error:").count(), 1, "{}", came.told);
}

#[test]
fn a_wrong_value_is_named_with_its_flag_and_bound() {
    let url = "<URL>': must be a URL";
    refused(&["mailto:a"], &format!("invalid value 'mailto:a' for '{url}: "));
    refused(&["ftp://x/"], &format!("invalid value 'ftp://x/' for '{url} of http or https"));
    refused(&["http://x:99999/"], &format!("invalid value 'http://x:99999/' for '{url}: "));
    let here = "http://127.0.0.1:9/";
    refused(
        &[here, "-H", "no colon"],
        "invalid value 'no colon' for '--header': must be 'Name: value'",
    );
    refused(
        &[here, "-H", "a b: c"],
        "invalid value 'a b: c' for '--header': must be 'Name: value', with a name",
    );
    refused(
        &[here, "-H", "content-length: 3"],
        "invalid value 'content-length: 3' for '--header': must be another one",
    );
    refused(
        &[here, "-X", "G E T"],
        "invalid value 'G E T' for '--request': must be the name of a method",
    );
    refused(&[here, "-u", "me"], "invalid value 'me' for '--user': must be a name and a password");
    refused(&[here, "-d", "@/nowhere"], "/nowhere: No such file");
    refused(&[here, "--policy", "/nowhere.toml"], "/nowhere.toml: No such file");
    refused(&[here, "--preset", "grcp"], "invalid value 'grcp' for '--preset': must be one of");
    refused(
        &[here, "--cacert", "/dev/null"],
        "invalid value '/dev/null' for '--cacert': must be a file of certificates",
    );
    refused(
        &[here, "--base", "20s", "--cap", "10s"],
        "invalid value '10s' for '--cap': must be at least --base (20s)",
    );
    refused(&[here, "--attempts", "0"], "invalid value '0' for '--attempts");
    refused(&[here, "--max-time", "0s"], "invalid value '0s' for '--max-time': must be");
    refused(&[here, "--max-time", "soon"], "invalid value 'soon' for '--max-time");
    refused(&[here, "--log", "/nowhere/log"], "/nowhere/log: No such file");
    refused(&[here, "--haeder", "a: b"], "unexpected argument '--haeder' found");
    refused(&[here, "-I", "-d", "x"], "the argument '--head' cannot be used with '--data <DATA>'");
    refused(&[here, "-G"], "the following required arguments were not provided");
    refused(&[here, "-r", "x"], "invalid value 'x' for '--range': must be bytes");
    refused(&[], "the following required arguments were not provided");
}

#[test]
fn nothing_is_sent_when_a_flag_is_wrong() {
    let server = BlockingServer::start(Script::always(Reaction::ok("")));
    let came = HttpRun::of(&[&server.url("/"), "-H", "wrong"]);
    assert_eq!((came.code, server.connections()), (Some(2), 0));
}

#[test]
fn a_folder_that_is_not_there_is_named_before_anything_is_sent() {
    let server = BlockingServer::start(Script::always(Reaction::ok("body")));
    for place in ["/nowhere/page", "/tmp"] {
        let came = HttpRun::of(&[&server.url("/"), "-o", place]);
        assert_eq!((came.code, server.connections()), (Some(2), 0), "{came:?}");
        assert!(came.told.contains(&format!("invalid value '{place}' for '--output'")), "{came:?}");
    }
}
