//! The memory that this process has used.

use std::fs;

/// The most memory that was ever in use, in MiB, where the system tells: `VmHWM` of Linux.
pub(crate) fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib.div_ceil(1024))
}
