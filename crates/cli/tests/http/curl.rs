//! The habits of curl's users: bundles, forms, queries, several URLs, downloads that go on, and silence.

use std::fs;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use stagger_testkit::server::{BlockingServer, Reaction, RefusingPort, Script, SeenRequest};

use crate::command::{HttpRun, folder, http};

fn always(reaction: Reaction) -> BlockingServer {
    BlockingServer::start(Script::always(reaction))
}

/// The request that these arguments make; and that of curl, where it is installed.
fn requests(args: &[&str]) -> (SeenRequest, Option<SeenRequest>) {
    let server = always(Reaction::ok("body"));
    let url = server.url("/path?a=1");
    let came = HttpRun::of(&[&["-q"], args, &[&url]].concat());
    assert_eq!(came.code, Some(0), "{came:?}");
    let mut curl = Command::new("curl");
    curl.args(["-s", "--noproxy", "*"]).args(args).arg(&url);
    let curl = curl.output().is_ok_and(|output| output.status.success());
    let mut seen = server.seen();
    let theirs = if curl { seen.pop() } else { None };
    (seen.pop().expect("one request"), theirs)
}

/// The same method, target, body and headers of these names as curl's.
fn same_as_curl(args: &[&str], headers: &[&str]) -> SeenRequest {
    let (ours, theirs) = requests(args);
    if let Some(theirs) = theirs {
        assert_eq!((&ours.method, &ours.path), (&theirs.method, &theirs.path), "{args:?}");
        assert_eq!(ours.body, theirs.body, "{args:?}");
        for name in headers {
            assert_eq!(ours.headers.get(*name), theirs.headers.get(*name), "{args:?}: {name}");
        }
    }
    ours
}

#[test]
fn requests_were_others_than_those_of_curl() {
    let kind = ["content-type"];
    let seen = same_as_curl(&["-G", "-d", "b=2", "-d", "c=x%20y"], &kind);
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("GET", "/path?a=1&b=2&c=x%20y"));
    let seen = same_as_curl(&["-A", "browser/1"], &["user-agent"]);
    assert_eq!(seen.headers["user-agent"], "browser/1");
    let seen = same_as_curl(&["-r", "0-99,200-"], &["range"]);
    assert_eq!(seen.headers["range"], "bytes=0-99,200-");
    let seen = same_as_curl(&["--data-binary", "a\nb"], &kind);
    assert_eq!((seen.method.as_str(), &seen.body[..]), ("POST", &b"a\nb"[..]));
    same_as_curl(&["-d", "a", "-X", "PUT", "-H", "content-type: text/plain"], &kind);
    same_as_curl(&["-fsSL", "-u", "me:secret"], &["authorization"]);
}

#[test]
fn a_form_had_other_fields_than_that_of_curl() {
    let folder = folder("form");
    let file = folder.join("a b.txt");
    fs::write(&file, "line\n").expect("writable");
    let file = file.display();
    let (upload, text) = (format!("f=@{file};type=text/csv"), format!("t=<{file}"));
    let (ours, theirs) = requests(&["-F", "x=1,2", "-F", &upload, "-F", &text]);
    let parts = |seen: &SeenRequest| {
        let kind = seen.headers["content-type"].to_str().expect("ASCII").to_owned();
        let boundary = kind.split("boundary=").nth(1).expect("a boundary").to_owned();
        let body = String::from_utf8(seen.body.to_vec()).expect("text here");
        body.replace(&boundary, "B").replace("--B", "--")
    };
    let expected = "--\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1,2\r\n\
        --\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a b.txt\"\r\nContent-Type: text/csv\r\n\r\nline\n\r\n\
        --\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nline\n\r\n----\r\n";
    assert_eq!(parts(&ours), expected);
    if let Some(theirs) = theirs {
        assert_eq!(parts(&theirs), expected, "curl's own");
    }
    let refused = HttpRun::of(&["-F", "no-value", "http://127.0.0.1:9/"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_form_was_another_one_at_the_second_attempt() {
    let server = BlockingServer::start(Script::of([Reaction::status(503)]).then(Reaction::ok("")));
    let args = ["-F", "a=b", "--idempotent", "--base", "1ms", &server.url("/")];
    assert_eq!(HttpRun::of(&args).code, Some(0));
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].body, seen[1].body);
    assert_eq!(seen[0].headers["content-type"], seen[1].headers["content-type"]);
}

#[test]
fn a_url_without_a_scheme_was_refused() {
    let server = always(Reaction::ok("body"));
    let address = server.url("/x");
    let came = HttpRun::of(&["-s", address.trim_start_matches("http://")]);
    assert_eq!((came.code, came.out.as_slice(), came.told.as_str()), (Some(0), &b"body"[..], ""));
}

#[test]
fn several_urls_became_one_or_a_failure_among_them_was_lost() {
    let script = Script::always(Reaction::ok("body"))
        .on_path("/a", Script::always(Reaction::ok("first ")))
        .on_path("/b", Script::always(Reaction::status(404).body("no ")))
        .on_path("/c", Script::always(Reaction::ok("last")));
    let server = BlockingServer::start(script);
    let [a, b, c] = ["/a", "/b", "/c"].map(|path| server.url(path));
    let came = HttpRun::of(&["-q", &a, &b, &c]);
    assert_eq!((came.code, came.out.as_slice()), (Some(22), &b"first no last"[..]));
    assert_eq!(HttpRun::of(&["-q", &a, &c]).code, Some(0));
    let refused = HttpRun::of(&[&a, "ftp://x/"]);
    assert_eq!((refused.code, server.seen().len()), (Some(2), 5), "nothing is sent for it");
}

#[test]
fn the_places_of_several_bodies_were_mixed_up() {
    let folder = folder("places");
    let script = Script::always(Reaction::ok("other"))
        .on_path("/a.txt", Script::always(Reaction::ok("a")))
        .on_path("/d/b.txt", Script::always(Reaction::ok("b")));
    let server = BlockingServer::start(script);
    let (a, b) = (server.url("/a.txt?x=1"), server.url("/d/b.txt"));
    let run = |args: &[&str]| {
        let output = http(args).current_dir(&folder).output();
        output.expect("the binary was built for this test").status.code()
    };
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("written");
    assert_eq!(run(&["-sOO", &a, &b]), Some(0));
    assert_eq!((read("a.txt"), read("b.txt")), ("a".to_owned(), "b".to_owned()));
    assert_eq!(run(&["-s", "-o", "one", "-o", "two", &b, &a]), Some(0));
    assert_eq!((read("one"), read("two")), ("b".to_owned(), "a".to_owned()));
    assert_eq!(run(&["-sO", &server.url("/d/")]), Some(2), "no name");
    assert_eq!(run(&["-sOO", &a]), Some(2), "more names than URLs");
    assert_eq!(run(&["-sO", "-o", "x", &a]), Some(2));
    fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn a_download_began_again_where_it_could_go_on() {
    let folder = folder("continue");
    let file = folder.join("page");
    let place = file.display().to_string();
    let run = |reaction: Reaction, begun: &str, at: &str| {
        fs::write(&file, begun).expect("writable");
        let server = always(reaction);
        let came = HttpRun::of(&["-s", "-C", at, "-o", &place, &server.url("/")]);
        let range = server.seen()[0].headers.get("range").map(|range| range.as_bytes().to_vec());
        let range = range.map(|range| String::from_utf8(range).expect("ASCII"));
        (came.code, fs::read_to_string(&file).expect("there"), range)
    };
    let rest = |range: &str| Reaction::status(206).header("content-range", range).body("3456");
    let asked = |range: &str| Some(range.to_owned());
    let whole = "0123456".to_owned();
    assert_eq!(run(rest("bytes 3-6/7"), "012", "-"), (Some(0), whole.clone(), asked("bytes=3-")));
    assert_eq!(
        run(rest("bytes 3-6/7"), "012xxx", "3"),
        (Some(0), whole.clone(), asked("bytes=3-"))
    );
    let all = || Reaction::ok("0123456");
    assert_eq!(run(all(), "012", "-"), (Some(0), whole.clone(), asked("bytes=3-")), "no parts");
    assert_eq!(run(all(), "", "-"), (Some(0), whole.clone(), None), "nothing is there");
    let nothing_left = Reaction::status(416).header("content-range", "bytes */7");
    assert_eq!(run(nothing_left, "0123456", "-"), (Some(0), whole, asked("bytes=7-")));
    let shorter = Reaction::status(416).header("content-range", "bytes */5");
    assert_eq!(run(shorter, "0123456", "-").0, Some(22), "another file");
    assert_eq!(HttpRun::of(&["-C", "9999", "-o", &place, "http://127.0.0.1:9/"]).code, Some(2));
    assert_eq!(HttpRun::of(&["-C", "-", "http://127.0.0.1:9/"]).code, Some(2), "no file");
    assert_eq!(fs::read_dir(&folder).expect("there").count(), 1, "nothing is left behind");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_compressed_body_came_out_compressed() {
    let text = "a line that repeats\n".repeat(5_000);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).expect("in memory");
    let zipped = encoder.finish().expect("in memory");
    let gzip = || Reaction::ok(zipped.clone()).header("content-encoding", "gzip").chunked();
    let server = always(gzip());
    let came = HttpRun::of(&["-q", "--compressed", &server.url("/")]);
    assert!(came.code == Some(0) && came.out == text.as_bytes(), "{:?}", came.told);
    assert_eq!(server.seen()[0].headers["accept-encoding"], "gzip");
    let came = HttpRun::of(&["-q", &server.url("/")]);
    assert!(came.out == zipped, "not asked for: as it comes");
    assert!(!server.seen()[1].headers.contains_key("accept-encoding"));
    for (reaction, code) in [
        (Reaction::ok("no gzip").header("content-encoding", "gzip"), 61),
        (Reaction::ok("x").header("content-encoding", "br"), 61),
        (Reaction::ok("plain"), 0),
    ] {
        let came = HttpRun::of(&["-q", "--compressed", &always(reaction).url("/")]);
        assert_eq!(came.code, Some(code), "{came:?}");
    }
}

#[test]
fn silence_was_broken_or_hid_what_show_error_asks_for() {
    let down = RefusingPort::hold().expect("a port that refuses");
    let url = down.url("/");
    for (flags, told) in [("-s", ""), ("-sS", "error: no reply: no connection"), ("-q", "error: ")]
    {
        let came = HttpRun::of(&[flags, "--attempts", "1", &url]);
        assert_eq!(came.code, Some(7), "{flags}");
        let fits = if told.is_empty() { came.told.is_empty() } else { came.told.starts_with(told) };
        assert!(fits, "{flags}: {}", came.told);
    }
}

#[test]
fn a_proxy_was_not_asked_or_got_no_credentials() {
    let proxy = always(Reaction::ok("by proxy"));
    let address = proxy.url("").replace("http://", "");
    let asked = format!("me:secret@{}", address.trim_end_matches('/'));
    let came = HttpRun::of(&["-q", "-x", &asked, "http://name.invalid/x"]);
    assert_eq!((came.code, came.out.as_slice()), (Some(0), &b"by proxy"[..]), "{}", came.told);
    let seen = &proxy.seen()[0];
    assert_eq!(seen.headers["proxy-authorization"], "Basic bWU6c2VjcmV0");
    let refused = HttpRun::of(&["-x", "socks5://me:secret@127.0.0.1:1", "http://name.invalid/"]);
    assert_eq!(refused.code, Some(2));
    assert!(!refused.told.contains("secret"), "{}", refused.told);
}

#[test]
fn the_flags_could_not_say_which_statuses_are_retried() {
    let run = |status: u16, flags: &[&str]| {
        let server =
            BlockingServer::start(Script::of([Reaction::status(status)]).then(Reaction::ok("")));
        let url = server.url("/");
        let came = HttpRun::of(&[flags, &["-q", "--base", "1ms", &url]].concat());
        (came.code, server.seen().len())
    };
    assert_eq!(run(404, &[]), (Some(22), 1));
    assert_eq!(run(404, &["--retry-on-status", "404"]), (Some(0), 2));
    assert_eq!(run(503, &["--retry-on-status", "404,500-502"]), (Some(22), 1));
    assert_eq!(run(418, &["--retry-all-errors"]), (Some(0), 2));
    assert_eq!(run(418, &["--retry-all-errors", "-d", "x"]), (Some(22), 1), "a POST stays one");
    assert_eq!(run(418, &["--retry-all-errors", "-d", "x", "--idempotent"]), (Some(0), 2));
    let refused = HttpRun::of(&["--retry-on-status", "200", "http://127.0.0.1:9/"]);
    assert!(refused.code == Some(2) && refused.told.contains("from 400 to 599"), "{refused:?}");
}

#[test]
fn a_time_of_curl_was_no_time() {
    let server = always(Reaction::hang());
    let came = HttpRun::of(&["-s", "-m", "0.2", &server.url("/")]);
    assert_eq!(came.code, Some(28));
    let flags = ["--max-time", "1", "--min-attempt-time", "2s", "http://127.0.0.1:9/"];
    let came = HttpRun::of(&flags);
    assert!(came.code == Some(2) && came.told.contains("--min-attempt-time"), "{came:?}");
    let came = HttpRun::of(&["--connect-timeout", "0", "http://127.0.0.1:9/"]);
    assert!(came.code == Some(2) && came.told.contains("--connect-timeout"), "{came:?}");
}

/// A server that sends this body up to a byte, and the rest to those who ask for it.
fn broken_at(body: &[u8], at: usize, headers: &[(&str, &str)]) -> BlockingServer {
    let with = |reaction: Reaction| {
        headers.iter().fold(reaction, |reaction, (name, value)| reaction.header(name, value))
    };
    let range = format!("bytes {at}-{}/{}", body.len() - 1, body.len());
    let rest = with(Reaction::status(206)).header("content-range", &range);
    let asked = format!("bytes={at}-");
    let rest = Script::always(rest.body(body[at..].to_vec()));
    let whole = with(Reaction::ok(body.to_vec()));
    let script = Script::of([whole.clone().cut(at)]).then(whole);
    BlockingServer::start(script.on_header("range", &asked, rest))
}

#[test]
fn a_compressed_body_that_broke_off_was_decoded_from_its_middle() {
    let folder = folder("zipped");
    let file = folder.join("page");
    let text: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut encoder, &text).expect("in memory");
    let zipped = encoder.finish().expect("in memory");
    let parts = [("content-encoding", "gzip"), ("accept-ranges", "bytes"), ("etag", "\"v1\"")];
    // With parts the rest is decoded after what is there; without them all of it anew.
    for headers in [&parts[..], &parts[..1]] {
        let server = broken_at(&zipped, zipped.len() / 2, headers);
        let place = file.display().to_string();
        let args = ["-q", "--compressed", "--base", "1ms", "-o", &place, &server.url("/")];
        let came = HttpRun::of(&args);
        assert_eq!(came.code, Some(0), "{came:?}");
        assert!(fs::read(&file).expect("there") == text, "{headers:?}");
        let resumed = server.seen()[1].headers.contains_key("range");
        assert_eq!((server.seen().len(), resumed), (2, headers.len() > 1));
    }
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_download_that_went_on_and_broke_off_lost_what_was_there() {
    let folder = folder("continued");
    let file = folder.join("page");
    fs::write(&file, "012").expect("writable");
    let rest = |from: usize| {
        let range = format!("bytes {from}-9/10");
        Reaction::status(206).header("content-range", &range).body(b"0123456789"[from..].to_vec())
    };
    let script = Script::always(Reaction::ok("another"))
        .on_header("range", "bytes=3-", Script::always(rest(3).cut(4)))
        .on_header("range", "bytes=7-", Script::always(rest(7)));
    let server = BlockingServer::start(script);
    let place = file.display().to_string();
    let came = HttpRun::of(&["-q", "-C", "-", "--base", "1ms", "-o", &place, &server.url("/")]);
    assert_eq!((came.code, server.seen().len()), (Some(0), 2), "{came:?}");
    assert_eq!(fs::read_to_string(&file).expect("there"), "0123456789");
    fs::remove_dir_all(folder).expect("ours");
}
