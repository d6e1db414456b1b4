//! Reads a greeting from a server that is still starting; Ctrl-C-like cancelling from another thread.
//!
//! `cargo run -p stagger --example blocking`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use stagger::{Backoff, CallReport, Cancel, Pause, Policy, Retrier, Span, StdTime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::builder()
        .backoff(Backoff::exponential(Span::from_millis(10), Span::from_secs(1))?)
        .max_attempts(20)
        .attempt_timeout(Span::from_secs(2))
        .deadline(Span::from_secs(10))
        .build()?;
    let retrier = Retrier::new(policy, StdTime);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let server = thread::spawn(move || serve(address));

    let (cancel, mut report) = (Cancel::new(), CallReport::default());
    let greeting = retrier
        .retry_blocking_with(|attempt, _| read_greeting(address, attempt.timeout))
        .report(&mut report) // and io::Error says itself what is worth another attempt
        .cancel(&cancel) // another thread may end the call with `cancel.cancel()`
        .call()?;
    println!("{greeting} (attempt {}, after {})", report.attempts(), report.elapsed());
    server.join().map_err(|_| "the server panicked")??;
    Ok(())
}

/// One attempt. Nothing interrupts it, so it hands its time limit to the socket.
fn read_greeting(address: SocketAddr, limit: Option<Span>) -> io::Result<String> {
    let limit = limit.map_or(Duration::from_secs(5), Duration::from);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    let mut greeting = String::new();
    stream.read_to_string(&mut greeting)?;
    Ok(greeting)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn serve(address: SocketAddr) -> io::Result<()> {
    StdTime.pause(Span::from_millis(50), None); // still starting
    let (mut client, _) = TcpListener::bind(address)?.accept()?;
    client.write_all(b"hello")
}
