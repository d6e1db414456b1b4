//! Access logs as files: plain, packed, and packed but broken off.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;

/// A call every 10 ms for 20 s; those of 2 s fail, and come again after 100 ms.
fn log() -> String {
    let mut csv = String::from("time,status,id\n");
    for call in 0..2_000_u64 {
        let at = 1_700_000_000_000 + 10 * call;
        let is_down = (400..600).contains(&call);
        csv += &format!("{at},{},{call}\n", if is_down { 503 } else { 200 });
        if is_down {
            csv += &format!("{},{},{call}\n", at + 100, if call < 590 { 503 } else { 200 });
        }
    }
    csv
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("into memory");
    encoder.finish().expect("into memory")
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("logs");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, bytes).expect("written");
    path
}

fn replay(path: &PathBuf) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let args = ["--law", "full", "--runs", "1", "--format", "csv"];
    let command = command.args(["storm", "--from-log"]).arg(path).args(args);
    command.output().expect("the binary was built for this test")
}

#[test]
fn a_packed_log_is_the_same_log_whatever_its_name() {
    let text = log();
    let plain = replay(&file("plain.csv", text.as_bytes()));
    assert!(plain.status.success());
    let (first, second) = text.as_bytes().split_at(text.len() / 3);
    let members = [packed(first), packed(second)].concat();
    for (name, bytes) in [("log.gz", packed(text.as_bytes())), ("log.csv.1", members)] {
        let output = replay(&file(name, &bytes));
        assert_eq!(output.stdout, plain.stdout, "{name}");
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(told.starts_with("2200 lines of the format csv, 0 malformed"), "{told}");
        assert!(!told.contains("warning"), "{told}");
    }
}

#[test]
fn of_a_packed_log_that_breaks_off_the_rest_is_played_with_a_warning() {
    let all = packed(log().as_bytes());
    let output = replay(&file("cut.gz", &all[..all.len() * 3 / 4]));
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{told}");
    assert!(told.contains("warning: the file breaks off"), "{told}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(",observed,"), "it is played");
}

#[test]
fn a_packed_file_of_nothing_or_by_another_packer_is_one_error() {
    for (name, bytes, part) in [
        ("stub.gz", &b"\x1f\x8b\x08\x00"[..], "breaks off before its first line ends"),
        ("log.zst", &b"\x28\xb5\x2f\xfd\x24"[..], "packed by zstd: unpack it first"),
        ("none.gz", &packed(b""), "the log has no lines"),
    ] {
        let output = replay(&file(name, bytes));
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(output.stdout.is_empty());
        assert!(told.contains(part) && told.matches("error:").count() == 1, "{told}");
    }
}
