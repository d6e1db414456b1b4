//! A server with faults on order, on 127.0.0.1: HTTP/1.1 and HTTP/2, in the clear and under TLS.
//!
//! A [`Script`] holds one [`Reaction`] a request, in order; the server plays it and writes down what
//! it saw. It waits for nothing by itself: only a drip takes time, and only the time it was given.
//! HTTP/2 in the clear is spoken with prior knowledge, under TLS by ALPN. Dropping the handle ends
//! every task, thread and connection.
//!
//! ```
//! use std::io::{Read, Write};
//! use stagger_testkit::server::{BlockingServer, Reaction, Script};
//!
//! let script = Script::of([Reaction::status(503), Reaction::ok("fine")]);
//! let server = BlockingServer::start(script);
//! let ask = |path: &str| {
//!     let mut socket = std::net::TcpStream::connect(server.address()).expect("it listens");
//!     let head = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
//!     socket.write_all(head.as_bytes()).expect("it reads");
//!     let mut reply = String::new();
//!     socket.read_to_string(&mut reply).expect("it answers");
//!     reply
//! };
//! assert!(ask("/one").starts_with("HTTP/1.1 503"));
//! assert!(ask("/two").ends_with("fine"));
//! assert_eq!(server.connections(), 2);
//! assert_eq!(server.seen()[1].path, "/two");
//! ```

mod clock;
mod http1;
mod http2;
mod request_log;
mod script;
mod test_server;
mod wire;

pub use h2::Reason;
pub use script::{ConnectionEnd, Reaction, Script};
pub use wire::Identity;

pub use request_log::{MAX_BODY, SeenRequest};
pub use test_server::{BlockingServer, RefusingPort, TestServer};
