//! A cool-off in a file that the processes of one host share: the destination is not called before an instant that a
//! server or a command named.
//!
//! The record has the instant of the hint and its end, both in the time since boot, and the boot. A cool-off of another
//! boot, or one that seems to begin in the future, is over, so none outlives its hint.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use stagger::StdTime;
use stagger_core::{Instant, Span};

use crate::host_file::{self, HostFile, padded};

/// The version of the record.
const VERSION: u32 = 1;
/// The longest cool-off that is kept: a server that names a year by mistake must not stop a daily job for longer than
/// one run.
const MAX: Span = Span::from_secs(24 * 60 * 60);

/// The cool-off of a destination, by the name of its file.
#[derive(Debug)]
pub struct CoolOffFile {
    file: HostFile,
    trouble: Mutex<Option<String>>,
}

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CoolOffRecord {
    stagger_cool_off: u32,
    /// The boot, by the name that Linux gives it; empty elsewhere, where the time is the wall clock's.
    boot: String,
    from_ns: u64,
    until_ns: u64,
    /// Of everything before it, so that half a record is known to be one.
    check: u64,
}

impl CoolOffRecord {
    fn new(boot: String, from: Instant, length: Span) -> Self {
        let (from_ns, until_ns) = (from.as_nanos(), (from + length).as_nanos());
        let check = Self::check_of(&boot, from_ns, until_ns);
        Self { stagger_cool_off: VERSION, boot, from_ns, until_ns, check }
    }

    fn check_of(boot: &str, from_ns: u64, until_ns: u64) -> u64 {
        let numbers = from_ns.to_le_bytes().into_iter().chain(until_ns.to_le_bytes());
        host_file::check(boot.bytes().chain(numbers))
    }

    /// The rest of the cool-off, at most [`MAX`]; nothing in another boot, or when its begin has not come yet.
    fn left(&self, boot: &str, now: Instant) -> Span {
        match now.as_nanos() {
            now if now < self.from_ns || boot != self.boot => Span::ZERO,
            now => Span::from_nanos(self.until_ns.saturating_sub(now)).min(MAX),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        padded(serde_json::to_vec(self).expect("numbers are JSON"))
    }
}

impl CoolOffFile {
    /// The cool-off in `path`, made if there is no such file. Its lock is waited for 5 s, or until `deadline` if that
    /// is shorter.
    ///
    /// # Errors
    /// A file that is a link, is none of ours, or is damaged.
    pub fn open(path: &Path, deadline: Option<Span>) -> Result<Self, String> {
        let fresh = CoolOffRecord::new(boot(), Instant::ORIGIN, Span::ZERO);
        let file = HostFile::open(path, deadline, &fresh.bytes())?;
        let file = Self { file, trouble: Mutex::new(None) };
        file.read()?;
        Ok(file)
    }

    /// The rest of the cool-off, and nothing when the file cannot be read.
    pub(crate) fn left(&self) -> Span {
        match self.read() {
            Ok(record) => record.left(&boot(), StdTime::of_host()),
            Err(why) => {
                self.note(why);
                Span::ZERO
            }
        }
    }

    /// Keeps a hint, unless there is a longer one.
    pub(crate) fn keep(&self, hint: Span) {
        let kept = self.change(hint.min(MAX));
        kept.unwrap_or_else(|why| self.note(why));
    }

    /// Why it could not be read or written, if it could not.
    pub(crate) fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|why| format!("{}: {why}", self.file.name()))
    }

    /// The path as people read it.
    pub(crate) fn name(&self) -> String {
        self.file.name()
    }

    fn note(&self, why: String) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn read(&self) -> Result<CoolOffRecord, String> {
        record(&self.file.lock()?)
    }

    fn change(&self, hint: Span) -> Result<(), String> {
        let file = self.file.lock()?;
        let (boot, now) = (boot(), StdTime::of_host());
        if record(&file)?.left(&boot, now) >= hint {
            return Ok(());
        }
        host_file::write(&file, &CoolOffRecord::new(boot, now, hint).bytes())
    }
}

/// The boot under way.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The record of a locked file.
fn record(file: &fs::File) -> Result<CoolOffRecord, String> {
    let damaged = || "damaged, or no cool-off file; remove it to begin with none".to_owned();
    let Some(bytes) = host_file::read(file).map_err(|()| damaged())? else {
        return Ok(CoolOffRecord::new(boot(), Instant::ORIGIN, Span::ZERO));
    };
    let record: CoolOffRecord = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
    if record.stagger_cool_off != VERSION {
        let found = record.stagger_cool_off;
        return Err(format!("written by version {found} of the format; this one knows {VERSION}"));
    }
    let check = CoolOffRecord::check_of(&record.boot, record.from_ns, record.until_ns);
    let whole = record.check == check;
    whole.then_some(record).ok_or_else(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cool_off_of_the_boot_before_outlived_its_hint() {
        let at = |seconds| Instant::ORIGIN + Span::from_secs(seconds);
        let kept = CoolOffRecord::new("this".to_owned(), at(100), Span::from_secs(30));
        for (now, left) in [(100, 30), (110, 20), (130, 0), (500, 0), (99, 0), (0, 0)] {
            assert_eq!(kept.left("this", at(now)), Span::from_secs(left), "at {now} s");
            assert_eq!(kept.left("next", at(now)), Span::ZERO, "at {now} s after a restart");
        }
        let forged = CoolOffRecord { until_ns: u64::MAX, ..kept };
        assert_eq!(forged.left("this", at(110)), MAX, "another process may have written it");
    }
}
