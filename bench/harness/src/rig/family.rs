//! The processor time of a process and its children.

use std::error::Error;
use std::fs;

/// Ticks a second in `/proc`: `USER_HZ`, which is 100 on every Linux of today.
const TICK_MS: u64 = 10;

/// Processor time used so far by a process, in milliseconds, to the tick of 10 ms.
pub(crate) fn cpu_ms(pid: u32) -> Result<u64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let stat = Stat::of(&stat).ok_or("no processor time in /proc")?;
    Ok(stat.own * TICK_MS)
}

/// The same for it and its children, those that have ended included.
pub(crate) fn family_ms(parent: u32) -> Result<u64, Box<dyn Error>> {
    let mut ticks = 0;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        // One that ends meanwhile is among those that have ended.
        let Ok(text) = fs::read_to_string(entry.path().join("stat")) else { continue };
        match Stat::of(&text) {
            Some(stat) if pid == parent => ticks += stat.own + stat.ended,
            Some(stat) if stat.parent == parent => ticks += stat.own,
            _ => {}
        }
    }
    Ok(ticks * TICK_MS)
}

/// The processor time in `/proc/PID/stat`, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// User and system time of its own.
    own: u64,
    /// The same of its children that have ended.
    ended: u64,
}

impl Stat {
    /// Fields are counted behind the name, which may hold anything.
    fn of(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let sum = |at: usize| -> Option<u64> {
            Some(fields.get(at)?.parse::<u64>().ok()? + fields.get(at + 1)?.parse::<u64>().ok()?)
        };
        Some(Self { parent: fields.get(1)?.parse().ok()?, own: sum(11)?, ended: sum(13)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_bracket_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 3 1 1 0 -1 4194560 2112 0 12 0 35 17 4 2 20 0 8 0 5000 1 2";
        assert_eq!(Stat::of(stat), Some(Stat { parent: 3, own: 52, ended: 6 }));
    }

    #[test]
    fn a_child_is_part_of_its_family() {
        let own = cpu_ms(std::process::id()).expect("it is there");
        assert!(family_ms(std::process::id()).expect("it is there") >= own);
    }
}
