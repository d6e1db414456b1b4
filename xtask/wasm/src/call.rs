//! One call, by a clock that jumps over its waits, and chance for a program without imports.
//!
//! The chance is always the same, which is no chance for any other program.

use std::cell::Cell;
use std::future::{Future, Ready, ready};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use http::Response;
use stagger::http::HttpReplies;
use stagger::{Clock, Instant, Policy, Retrier, Sleep, Span};

/// A clock that jumps over every wait.
#[derive(Clone, Default)]
struct Jumping(Rc<Cell<Span>>);

impl Clock for Jumping {
    fn now(&self) -> Instant {
        Instant::ORIGIN + self.0.get()
    }
}

impl Sleep for Jumping {
    type Timer = Ready<()>;

    fn sleep(&self, span: Span) -> Ready<()> {
        self.0.set(self.0.get() + span);
        ready(())
    }
}

/// Makes a call whose server is busy once and names the time of its return by a date 3 s after its own.
/// Returns the seconds that the call waited, or 0 when it failed.
#[unsafe(no_mangle)]
pub extern "C" fn seconds_waited() -> u64 {
    let time = Jumping::default();
    let retrier = Retrier::new(Policy::default(), time.clone());
    let mut replies = Vec::from([200, 503].map(reply));
    let call = retrier.retry(|| ready(replies.pop().unwrap_or(Err(io::ErrorKind::Other.into()))));
    let mut call = pin!(call.classified_by(HttpReplies::default()).into_future());
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(reply)) if reply.status() == 200 => {
            time.0.get().as_nanos() / Span::from_secs(1).as_nanos()
        }
        _ => 0,
    }
}

fn reply(status: u16) -> io::Result<Response<()>> {
    let reply = Response::builder().status(status);
    let reply = reply.header("date", "Wed, 21 Oct 2015 07:28:00 GMT");
    let reply = reply.header("retry-after", "Wed, 21 Oct 2015 07:28:03 GMT");
    reply.body(()).map_err(io::Error::other)
}

// SAFETY: the caller says that `len` bytes may be written at `dest`.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    dest: *mut u8,
    len: usize,
) -> Result<(), getrandom::Error> {
    unsafe { dest.write_bytes(0x5a, len) };
    Ok(())
}
