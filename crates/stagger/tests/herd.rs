//! Equal callers must draw unequal first delays (cenkalti/backoff PR 42, aws/aws-sdk-go PR 670).
#![cfg(unix)]
#![expect(unsafe_code, reason = "only a real fork shows what a fork does")]

use stagger::{Entropy, OsEntropy, Span};
use std::collections::HashSet;
use std::process::Command;

const CALLERS: usize = 50;
const CHILD: &str = "STAGGER_TEST_CHILD";

/// The first delay over 10 s, in microseconds.
fn first_delay() -> u64 {
    OsEntropy.draw(Span::ZERO, Span::from_secs(10)).as_nanos() / 1_000
}

/// True chance makes two of 50 meet once in 8000 runs; two such meetings are one in 10^8.
fn assert_scattered(delays: &[u64]) {
    assert_eq!(delays.len(), CALLERS);
    let distinct = delays.iter().collect::<HashSet<_>>().len();
    assert!(distinct >= CALLERS - 1, "{delays:?}");
}

#[test]
fn processes_of_one_image_do_not_draw_the_same_delays() {
    if std::env::var_os(CHILD).is_some() {
        println!("\ndelay={}", first_delay());
        return;
    }
    let image = std::env::current_exe().expect("this test has a path");
    let delays: Vec<u64> = (0..CALLERS)
        .map(|_| {
            let output = Command::new(&image)
                .args(["--exact", "processes_of_one_image_do_not_draw_the_same_delays"])
                .arg("--nocapture")
                .env(CHILD, "1")
                .output()
                .expect("the image starts");
            let text = String::from_utf8(output.stdout).expect("text");
            let delay = text.lines().find_map(|line| line.strip_prefix("delay="));
            delay.expect("a delay").parse().expect("a number")
        })
        .collect();
    assert_scattered(&delays);
}

#[test]
fn forks_of_one_warmed_parent_do_not_draw_the_same_delays() {
    let _warm = first_delay();
    let delays: Vec<u64> = (0..CALLERS).map(|_| delay_of_a_fork()).collect();
    assert_scattered(&delays);
}

fn delay_of_a_fork() -> u64 {
    let mut ends = [0; 2];
    let mut bytes = [0_u8; 8];
    // SAFETY: the child only draws (no lock, no allocation), writes a local buffer and leaves by
    // _exit; the parent reads into a local buffer of the stated length and reaps the child.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            bytes = first_delay().to_ne_bytes();
            libc::write(ends[1], bytes.as_ptr().cast(), 8);
            libc::_exit(0);
        }
        assert_eq!(libc::read(ends[0], bytes.as_mut_ptr().cast(), 8), 8);
        assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
        libc::close(ends[0]);
        libc::close(ends[1]);
    }
    u64::from_ne_bytes(bytes)
}
