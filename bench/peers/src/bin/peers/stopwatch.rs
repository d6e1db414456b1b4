//! Processor time of this thread: a neighbour that takes the core does not count.

/// Nanoseconds of processor time that this thread has had.
#[expect(unsafe_code, reason = "the standard library does not know a thread's processor time")]
pub(crate) fn thread_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing, and Linux has this clock since 2.6.12.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}
