//! Whole files: what is refused, what is counted, and what is held in memory.

mod print;

use std::io::{self, BufReader, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use print::Written;
use proptest::prelude::*;
use stagger_core::Span;
use stagger_replay::{AccessLogFormat, LogMap, ReadError, Reading};

const BEGAN: u64 = 1_700_000_000_000;

/// A log of any length, written line by line as it is read.
struct Endless {
    format: AccessLogFormat,
    lines: u64,
    made: u64,
    rest: Vec<u8>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() && self.made < self.lines {
            let ms = self.made;
            self.made += 1;
            let status = if ms % 100 < 2 { 503 } else { 200 };
            let caller = u32::try_from(ms).expect("a million lines");
            let written = Written { began: BEGAN + ms, took: 3, status, caller };
            self.rest = (written.line(self.format) + "\n").into_bytes();
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(length)
    }
}

#[test]
fn a_million_lines_are_read_in_the_room_of_some_seconds() {
    for format in [AccessLogFormat::Combined, AccessLogFormat::Envoy] {
        let input = Endless { format, lines: 1_000_000, made: 0, rest: Vec::new() };
        let log = Reading::default().read(BufReader::new(input)).unwrap();
        assert_eq!((log.lines, log.malformed), (1_000_000, 0));
        assert_eq!((log.attempts(), log.calls()), (1_000_000, 1_000_000));
        assert!(log.peak.line < 256, "{:?}", log.peak);
        // Six seconds of a thousand a second, of combined stamps alone.
        assert!(log.peak.waiting <= 7_000, "{:?}", log.peak);
        // Twenty failures a second for twice ten minutes at most: here all that there were.
        assert!(log.peak.failures <= 20_000, "{:?}", log.peak);
        assert_eq!(log.peak.firsts, 1_000_000);
    }
}

#[test]
fn malformed_lines_are_counted_and_shown_and_do_not_matter() {
    let mut text = String::from("-- rotated --\n");
    for ms in 0..100 {
        let written = Written { began: BEGAN + 100 * ms, took: 1, status: 200, caller: 1 };
        text += &written.line(AccessLogFormat::Combined);
        text += "\n";
    }
    text += "\n10.0.0.9 - - [31/Feb/2023:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1\n";
    let log = Reading::default().read(text.as_bytes()).unwrap();
    assert_eq!((log.lines, log.malformed, log.attempts()), (102, 2, 100));
    let shown: Vec<(u64, &str)> = log.bad_lines.iter().map(|bad| (bad.number, bad.why)).collect();
    assert_eq!(shown, [(1, "no [time]"), (103, "no such time")]);
}

/// Lines of the formats of two servers, one after the other.
fn mixed(first: (AccessLogFormat, u64), second: (AccessLogFormat, u64)) -> String {
    let lines = |(format, count): (AccessLogFormat, u64)| {
        let written = |ms| Written { began: BEGAN + 10 * ms, took: 1, status: 200, caller: 1 };
        (0..count).map(move |ms| written(ms).line(format) + "\n")
    };
    lines(first).chain(lines(second)).collect()
}

#[test]
fn in_a_mixed_file_the_first_line_of_another_format_is_to_blame() {
    let (combined, envoy) = (AccessLogFormat::Combined, AccessLogFormat::EnvoyText);
    let log = Reading::default().read(mixed((combined, 20), (envoy, 15)).as_bytes()).unwrap();
    assert_eq!((log.format, log.malformed, log.bad_lines[0].number), (combined, 15, 21));
    // The first 32 lines name the format, and of the first 1000 more than half are of another.
    let error = Reading::default().read(mixed((combined, 40), (envoy, 90)).as_bytes()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("90 of the first 130 lines are not of the format combined"), "{text}");
    assert!(text.contains("line 41: "), "{text}");
    // No format has half of the lines: the nearest one is named, and not the first line.
    let garbage = "hello\n".repeat(9);
    let text = mixed((combined, 8), (AccessLogFormat::Caddy, 7)) + &garbage;
    let error = Reading::default().read(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("not of the format combined; line 9: "), "{error}");
}

#[test]
fn a_map_of_columns_for_a_format_without_any_is_refused() {
    let text = mixed((AccessLogFormat::Combined, 5), (AccessLogFormat::Combined, 0));
    let read = |map: &str| {
        let map = Some(map.parse().expect("a map"));
        Reading { map, ..Reading::default() }.read(text.as_bytes())
    };
    assert_eq!(read("client=none").unwrap().evidence.nothing, 5);
    let error = read("client=ip").unwrap_err();
    assert!(matches!(error, ReadError::NoMap(AccessLogFormat::Combined)), "{error}");
}

#[test]
fn what_is_no_log_is_refused_with_its_reason() {
    let refused = |text: &[u8], format| {
        let reading = Reading { format, ..Reading::default() };
        reading.read(text).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(b"", None), "the log has no lines");
    assert!(refused(b"\x28\xb5\x2f\xfd\x00", None).contains("packed by zstd"));
    assert!(refused(b"Dear all,\nhello\n", None).contains("none of combined, envoy, envoy-text,"));
    assert!(refused(b"a,b\n1,2\n", Some(AccessLogFormat::Csv)).contains("a map must name them"));
    let wrong = refused(b"a\nb\n{}\n", Some(AccessLogFormat::Envoy));
    assert!(
        wrong.starts_with("3 of the first 3 lines are not of the format envoy; line 1"),
        "{wrong}"
    );
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("into memory");
    encoder.finish().expect("into memory")
}

fn some_log(lines: u64) -> String {
    let line = |ms: u64| {
        let status = if ms % 100 < 2 { 503 } else { 200 };
        let caller = u32::try_from(ms).expect("few lines");
        Written { began: BEGAN + 10 * ms, took: 3, status, caller }.line(AccessLogFormat::Envoy)
            + "\n"
    };
    (0..lines).map(line).collect()
}

#[test]
fn a_packed_log_reads_as_the_same_log_whatever_its_members() {
    let text = some_log(3_000);
    let plain = Reading::default().read(text.as_bytes()).unwrap();
    // As `logrotate` with `gzip -c >>` writes it, as bgzip does, and one member with a line on its edge.
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    let many: Vec<u8> = text.as_bytes().chunks(1_000).flat_map(packed).collect();
    for file in [
        packed(text.as_bytes()),
        [packed(first), packed(second)].concat(),
        [many, packed(b"")].concat(),
    ] {
        let log = Reading::default().read(BufReader::with_capacity(7, &file[..])).unwrap();
        assert_eq!((log.lines, log.malformed, &log.broken), (3_000, 0, &None));
        assert_eq!(log.first_attempts(), plain.first_attempts());
        assert_eq!(log.peak, plain.peak);
    }
}

#[test]
fn of_a_packed_log_that_breaks_off_what_is_there_is_read() {
    let file = packed(some_log(3_000).as_bytes());
    for length in [file.len() - 1, file.len() / 2, file.len() / 5] {
        let log = Reading::default().read(&file[..length]).unwrap();
        assert!(log.broken.is_some(), "{length}");
        assert!(log.lines > 100 && log.lines <= 3_000, "{}", log.lines);
        // The line in which it breaks off is no attempt, though it may look like one.
        assert!(log.malformed <= 1, "{}", log.malformed);
        assert_eq!(log.attempts() + log.malformed, log.lines);
        for bad in &log.bad_lines {
            assert_eq!((bad.why, bad.number), ("the packed file breaks off here", log.lines));
        }
    }
    let rubbish = [file, b"rubbish".to_vec()].concat();
    let log = Reading::default().read(&rubbish[..]).unwrap();
    assert_eq!((log.lines, log.malformed, log.broken.is_some()), (3_000, 0, true));
}

#[test]
fn a_packed_file_without_a_line_is_refused_with_its_reason() {
    let refused = |bytes: &[u8]| Reading::default().read(bytes).map(|_| ()).unwrap_err();
    for cut in [&b"\x1f\x8b\x08\x00"[..], &packed(some_log(1).as_bytes())[..40]] {
        let error = refused(cut);
        assert!(matches!(error, ReadError::Broken(_)), "{error}");
        assert!(error.to_string().contains("packed by gzip and breaks off"), "{error}");
    }
    assert!(matches!(refused(&packed(b"")), ReadError::Empty));
    assert!(matches!(refused(&packed(&packed(b"x"))), ReadError::Compressed("gzip")));
}

#[test]
fn a_packed_log_of_a_million_lines_is_read_in_the_room_of_a_plain_one() {
    // A member of a thousand lines, a thousand times over: a line's length is all that is held.
    let member = packed(some_log(1_000).as_bytes());
    let members = std::iter::repeat_n(member, 1_000).flatten().collect::<Vec<u8>>();
    let log = Reading::default().read(&members[..]).unwrap();
    assert_eq!((log.lines, log.malformed), (1_000_000, 0));
    assert!(log.peak.line < 256, "{:?}", log.peak);
}

#[test]
fn a_log_that_jumps_by_years_is_refused() {
    let text = "time,status\n1000000000,200\n1700000000,200\n1700000001,200\n";
    let error = Reading::default().read(text.as_bytes()).unwrap_err();
    assert!(matches!(error, ReadError::TooLong(_)), "{error}");
}

fn attempts() -> impl Strategy<Value = Vec<Written>> {
    let one =
        (0..3_600_000_u64, 0..30_000_u64, prop::sample::select(vec![200, 404, 500, 503, 504]));
    prop::collection::vec(one, 1..50).prop_map(|all| {
        let number = |(caller, (ms, took, status)): (u32, (u64, u64, u16))| Written {
            began: BEGAN + ms,
            took,
            status,
            caller,
        };
        let mut all: Vec<Written> = (0..).zip(all).map(number).collect();
        all.sort_by_key(|written| written.began + written.took);
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(attempts in attempts()) {
        for format in AccessLogFormat::ALL {
            let log = Reading::default().read(print::log(format, &attempts).as_bytes());
            let log = log.unwrap_or_else(|error| panic!("{format}: {error}"));
            prop_assert_eq!((log.format, log.malformed), (format, 0));
            prop_assert_eq!(log.attempts(), attempts.len() as u64);
            if log.began.grain == Span::from_secs(1) {
                continue;
            }
            let mut began: Vec<u64> = attempts.iter().map(|written| written.began).collect();
            began.sort_unstable();
            let wall = |&at| log.wall(at).since_epoch.as_nanos() / 1_000_000;
            let read: Vec<u64> = log.first_attempts().iter().map(wall).collect();
            prop_assert_eq!(read, began);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400), format in 0..11_usize,
    ) {
        let format = AccessLogFormat::ALL.get(format).copied();
        let _ = Reading { format, ..Reading::default() }.read(bytes.as_slice());
    }

    #[test]
    fn no_damage_to_a_line_makes_a_reader_panic(
        attempts in attempts(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        for format in AccessLogFormat::ALL {
            let mut bytes = print::log(format, &attempts).into_bytes();
            let place = at.index(bytes.len());
            bytes[place] = byte;
            let _ = Reading::default().read(bytes.as_slice());
        }
    }

    #[test]
    fn no_text_makes_a_map_panic(text in "\\PC{0,40}") {
        let _ = text.parse::<LogMap>();
    }
}
