//! Signals: their names, those that this process hears, and the one by which it ends.

use std::future::{self, Future};
use std::io;
use std::process::ExitCode;
use std::str::FromStr;
use std::task::Poll;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getrlimit, kill_current_process_group, setrlimit,
};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};

use crate::self_stop::SelfStop;

/// The request that a signal makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalRequest {
    /// An end, by the signal of this number.
    End(i32),
    /// A stop, as by Ctrl-Z.
    Stop,
    /// To go on after a stop.
    GoOn,
    /// A signal that is the command's business.
    Forward(Signal),
    /// A child has ended, or was stopped.
    Child,
}

/// Handlers for all of them.
#[derive(Debug)]
pub(crate) struct Signals {
    streams: Vec<(SignalRequest, SignalStream)>,
    self_stop: SelfStop,
}

impl Signals {
    /// Listens from now on. What was ignored when this process began stays so, for it and for the
    /// command: `nohup`, and jobs in the background of a script. Not so the end of children: where
    /// that is ignored, the kernel keeps no exit status.
    ///
    /// # Errors
    /// When the system gives no handler.
    pub(crate) fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let end = |number: Signal| (SignalRequest::End(number.as_raw()), number);
        let forward = |number: Signal| (SignalRequest::Forward(number), number);
        let wanted = [
            end(Signal::INT),
            end(Signal::TERM),
            end(Signal::HUP),
            end(Signal::QUIT),
            end(Signal::ALARM),
            forward(Signal::USR1),
            forward(Signal::USR2),
            (SignalRequest::Stop, Signal::TSTP),
            (SignalRequest::GoOn, Signal::CONT),
            (SignalRequest::Child, Signal::CHILD),
        ];
        let is_heard =
            |request, number| request == SignalRequest::Child || !contains(ignored, number);
        let heard = wanted.into_iter().filter(|(request, number)| is_heard(*request, *number));
        let handler = |(request, number): (SignalRequest, Signal)| {
            Ok((request, signal(SignalKind::from_raw(number.as_raw()))?))
        };
        let streams = heard.map(handler).collect::<io::Result<_>>()?;
        Ok(Self { streams, self_stop: SelfStop::listen(!contains(ignored, Signal::CONT))? })
    }

    /// The stop of this process by itself.
    pub(crate) const fn self_stop(&self) -> &SelfStop {
        &self.self_stop
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> impl Future<Output = SignalRequest> {
        future::poll_fn(|context| {
            self.self_stop.look();
            for (request, signal) in &mut self.streams {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*request);
                }
            }
            Poll::Pending
        })
    }
}

/// The signals that are ignored, a bit each. Known on Linux only.
fn ignored() -> u64 {
    mask("/proc/self/status", "SigIgn:")
}

/// Whether a signal waits for a process, because the process is stopped. Known on Linux only.
pub(crate) fn is_pending(process: Pid, signal: Signal) -> bool {
    let status = format!("/proc/{}/status", process.as_raw_nonzero());
    contains(mask(&status, "ShdPnd:"), signal)
}

/// A mask of signals in the status of a process (proc_pid_status(5)); empty where there is none.
fn mask(status: &str, name: &str) -> u64 {
    let status = std::fs::read_to_string(status).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(name));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn contains(mask: u64, number: Signal) -> bool {
    // OK because signals are numbered from 1 to 64.
    mask >> (number.as_raw() - 1) & 1 == 1
}

/// The end of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It exits with a code.
    Code(u8),
    /// It dies of a signal, because bash ends a script only when a command dies of Ctrl-C: a command
    /// that exits with 130 may have handled it. Shells see 128 + N either way.
    Signal(i32),
    /// The same, and the other processes of the job get the signal too.
    JobSignal(Signal),
}

impl Exit {
    /// Dies of the signal; returns the code to exit with otherwise.
    pub(crate) fn finish(self) -> ExitCode {
        match self {
            Self::Code(code) => ExitCode::from(code),
            Self::Signal(signal) => die(signal),
            Self::JobSignal(signal) => {
                let _ = kill_current_process_group(signal);
                die(signal.as_raw())
            }
        }
    }
}

/// Resets the handler of the signal and raises it again.
fn die(signal: i32) -> ExitCode {
    // The kernel protects the first process of a container from its own signals.
    if !getpid().is_init() {
        // QUIT dumps core: the command's own dump is the useful one.
        let limit = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
        let _ = setrlimit(Resource::Core, limit);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    ExitCode::from(signal_code(signal))
}

/// The signals that end a process, by the numbers that they have on every system that we know.
const NUMBERS: [(&str, i32); 12] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("FPE", 8),
    ("KILL", 9),
    ("SEGV", 11),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
];
/// Requests to end, and a reader that has gone: no failures of the command.
const ENDINGS: [i32; 5] = [1, 2, 3, 13, 15];

/// The signals that a flag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalNames {
    /// All that are failures.
    Failures,
    /// Those of these numbers.
    These(Vec<i32>),
}

impl SignalNames {
    /// Whether this one is among them.
    pub(crate) fn contains(&self, signal: i32) -> bool {
        match self {
            Self::Failures => !ENDINGS.contains(&signal),
            Self::These(signals) => signals.contains(&signal),
        }
    }
}

impl FromStr for SignalNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "any" {
            return Ok(Self::Failures);
        }
        text.split(',').map(number).collect::<Result<_, _>>().map(Self::These)
    }
}

/// The name of a signal in messages: `SIGKILL`, or its number.
pub(crate) fn signal_name(number: i32) -> String {
    match NUMBERS.iter().find(|(_, known)| *known == number) {
        Some((name, _)) => format!("SIG{name}"),
        None => format!("signal {number}"),
    }
}

fn number(text: &str) -> Result<i32, String> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let known = NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let plain = || text.parse::<i32>().ok().filter(|number| (1..=64).contains(number));
    known.or_else(plain).ok_or_else(|| {
        let names: Vec<&str> = NUMBERS.iter().map(|(name, _)| *name).collect();
        format!("{text:?}: must be one of {}, or a number from 1 to 64", names.join(", "))
    })
}

/// The number that shells add to that of a signal.
const SIGNAL_BASE: i32 = 128;

/// The exit code that stands for a signal.
pub(crate) fn signal_code(signal: i32) -> u8 {
    u8::try_from(SIGNAL_BASE.saturating_add(signal)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_somebody_asked_for_was_retried() {
        let any: SignalNames = "any".parse().unwrap();
        assert!(any.contains(9) && any.contains(11) && any.contains(7));
        assert!(!any.contains(2) && !any.contains(13) && !any.contains(15));
        let named: SignalNames = "KILL,SIGTERM,7".parse().unwrap();
        assert!(named.contains(9) && named.contains(15) && named.contains(7));
        assert!(!named.contains(11));
        assert!("NONSENSE".parse::<SignalNames>().is_err());
        assert_eq!((signal_name(9), signal_name(40)), ("SIGKILL".into(), "signal 40".into()));
    }
}
