//! The shop over HTTP: a server on a thread of its own, for the programs that call a URL.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::shop::{Fault, answer};

/// Starts the server, which runs until the process ends; its URL.
pub(crate) fn start() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/bolt", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that hangs up ends its connection, and nothing else.
            thread::spawn(move || serve(stream).ok());
        }
    });
    Ok(url)
}

/// Answers the requests of one connection, which have no bodies.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    loop {
        // Up to the empty line that ends the head.
        while !lines.next().transpose()?.ok_or(io::ErrorKind::UnexpectedEof)?.is_empty() {}
        let status = match answer() {
            Ok(()) => "200 OK",
            Err(Fault::Busy) => "503 Service Unavailable",
            Err(Fault::Gone) => "404 Not Found",
        };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")?;
    }
}
