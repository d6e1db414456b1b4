//! Whole files: what is refused, what is counted, and what is held in memory.

mod print;

use std::io::{self, BufReader, Read};

use print::Written;
use proptest::prelude::*;
use stagger_replay::{Format, LogMap, ReadError, Reading};

const BEGAN: u64 = 1_700_000_000_000;

/// A log of any length, written line by line as it is read.
struct Endless {
    format: Format,
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
            let written = Written { began: BEGAN + ms, took: 3, status, caller: ms as u32 };
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
    for format in [Format::Combined, Format::Envoy] {
        let input = Endless { format, lines: 1_000_000, made: 0, rest: Vec::new() };
        let log = Reading::default().read(BufReader::new(input)).unwrap();
        assert_eq!((log.lines, log.malformed), (1_000_000, 0));
        assert_eq!((log.attempts(), log.calls()), (1_000_000, 1_000_000));
        assert!(log.held.line < 256, "{:?}", log.held);
        // Six seconds of a thousand a second, of combined stamps alone.
        assert!(log.held.waiting <= 7_000, "{:?}", log.held);
        // Twenty failures a second for twice ten minutes at most: here all that there were.
        assert!(log.held.failures <= 20_000, "{:?}", log.held);
        assert_eq!(log.held.firsts, 1_000_000);
    }
}

#[test]
fn malformed_lines_are_counted_and_shown_and_do_not_matter() {
    let mut text = String::from("-- rotated --\n");
    for ms in 0..100 {
        let written = Written { began: BEGAN + 100 * ms, took: 1, status: 200, caller: 1 };
        text += &written.line(Format::Combined);
        text += "\n";
    }
    text += "\n10.0.0.9 - - [31/Feb/2023:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1\n";
    let log = Reading::default().read(text.as_bytes()).unwrap();
    assert_eq!((log.lines, log.malformed, log.attempts()), (102, 2, 100));
    let shown: Vec<(u64, &str)> = log.bad_lines.iter().map(|bad| (bad.number, bad.why)).collect();
    assert_eq!(shown, [(1, "no [time]"), (103, "no such time")]);
}

#[test]
fn what_is_no_log_is_refused_with_its_reason() {
    let refused = |text: &[u8], format| {
        let reading = Reading { format, map: None };
        reading.read(text).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(b"", None), "the log has no lines");
    assert!(refused(b"\x1f\x8b\x08\x00", None).contains("packed by gzip"));
    assert!(refused(b"Dear all,\nhello\n", None).contains("none of combined, envoy, csv, jsonl"));
    assert!(refused(b"a,b\n1,2\n", Some(Format::Csv)).contains("a map must name them"));
    let wrong = refused(b"a\nb\n{}\n", Some(Format::Envoy));
    assert!(wrong.starts_with("3 of the first 3 lines are not of the format envoy; line 1"), "{wrong}");
}

#[test]
fn a_log_that_jumps_by_years_is_refused() {
    let text = "time,status\n1000000000,200\n1700000000,200\n1700000001,200\n";
    let error = Reading::default().read(text.as_bytes()).unwrap_err();
    assert!(matches!(error, ReadError::TooLong(_)), "{error}");
}

fn attempts() -> impl Strategy<Value = Vec<Written>> {
    let one = (0..3_600_000_u64, 0..30_000_u64, prop::sample::select(vec![200, 404, 500, 503, 504]));
    prop::collection::vec(one, 1..50).prop_map(|all| {
        let number = |(caller, (ms, took, status)): (u32, (u64, u64, u16))| {
            Written { began: BEGAN + ms, took, status, caller }
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
        for format in Format::ALL {
            let log = Reading::default().read(print::log(format, &attempts).as_bytes());
            let log = log.unwrap_or_else(|error| panic!("{format}: {error}"));
            prop_assert_eq!((log.format, log.malformed), (format, 0));
            prop_assert_eq!(log.attempts(), attempts.len() as u64);
            if format == Format::Combined {
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
        bytes in prop::collection::vec(any::<u8>(), 0..400), format in 0..5_usize,
    ) {
        let format = Format::ALL.get(format).copied();
        let _ = Reading { format, map: None }.read(bytes.as_slice());
    }

    #[test]
    fn no_damage_to_a_line_makes_a_reader_panic(
        attempts in attempts(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        for format in Format::ALL {
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
