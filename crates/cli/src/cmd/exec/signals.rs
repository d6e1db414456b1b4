//! The signals that this process hears.

use std::future::{self, Future};
use std::io;
use std::task::Poll;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The request that a signal makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalRequest {
    /// An end, by the signal of this number.
    End(i32),
    /// A stop, as by Ctrl-Z.
    Stop,
    /// To go on after a stop.
    GoOn,
    /// A signal that is the command's business.
    Forward(Number),
    /// A child has ended, or was stopped.
    Child,
}

/// Handlers for all of them.
#[derive(Debug)]
pub(super) struct Signals(Vec<(SignalRequest, Signal)>);

impl Signals {
    /// Listens from now on. What was ignored when this process began stays so, for it and for the
    /// command: `nohup`, and jobs in the background of a script. Not so the end of children: where
    /// that is ignored, the kernel keeps no exit status.
    ///
    /// # Errors
    /// When the system gives no handler.
    pub(super) fn listen() -> io::Result<Self> {
        let ignored = ignored();
        let end = |number: Number| (SignalRequest::End(number.as_raw()), number);
        let forward = |number: Number| (SignalRequest::Forward(number), number);
        let wanted = [
            end(Number::INT),
            end(Number::TERM),
            end(Number::HUP),
            end(Number::QUIT),
            end(Number::ALARM),
            forward(Number::USR1),
            forward(Number::USR2),
            (SignalRequest::Stop, Number::TSTP),
            (SignalRequest::GoOn, Number::CONT),
            (SignalRequest::Child, Number::CHILD),
        ];
        let heard = wanted.into_iter().filter(|(request, number)| {
            *request == SignalRequest::Child || !contains(ignored, *number)
        });
        let handler = |(request, number): (SignalRequest, Number)| {
            Ok((request, signal(SignalKind::from_raw(number.as_raw()))?))
        };
        heard.map(handler).collect::<io::Result<_>>().map(Self)
    }

    /// The next one.
    pub(super) fn next(&mut self) -> impl Future<Output = SignalRequest> {
        future::poll_fn(|context| {
            for (request, signal) in &mut self.0 {
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
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn contains(mask: u64, number: Number) -> bool {
    // OK because signals are numbered from 1 to 64.
    mask >> (number.as_raw() - 1) & 1 == 1
}
