//! An address that a test may point elsewhere, and a network that it may cut.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a connection looks whether it is still to carry anything.
const LOOK: Duration = Duration::from_millis(2);

/// Carries what it is sent to one server; ends with the test.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    way: Arc<Mutex<Way>>,
}

#[derive(Clone, Copy, Debug)]
struct Way {
    to: Option<u16>,
    /// What is sent arrives when it is no more.
    silent: bool,
    /// Connections of an earlier one have ended.
    number: u32,
}

impl Proxy {
    /// An address in front of this port.
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let way = Arc::new(Mutex::new(Way { to: Some(port), silent: false, number: 0 }));
        let proxy =
            Self { port: listener.local_addr().expect("an address").port(), way: Arc::clone(&way) };
        // It waits for connections until the process of the test ends.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                carry(client, &way);
            }
        });
        proxy
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Nothing arrives, and nobody is told.
    pub(crate) fn hold(&self) {
        self.change(|way| way.silent = true);
    }

    /// All arrives that was held.
    pub(crate) fn release(&self) {
        self.change(|way| way.silent = false);
    }

    /// All connections end, and what was held is lost. The next ones go there, or nowhere.
    pub(crate) fn point(&self, to: Option<u16>) {
        self.change(|way| *way = Way { to, silent: false, number: way.number + 1 });
    }

    fn change(&self, change: impl FnOnce(&mut Way)) {
        change(&mut self.way.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn read(way: &Mutex<Way>) -> Way {
    *way.lock().unwrap_or_else(PoisonError::into_inner)
}

fn carry(client: TcpStream, way: &Arc<Mutex<Way>>) {
    let Way { to, number, .. } = read(way);
    // Without a server behind it, the connection ends at once.
    let Some(server) = to.and_then(|port| TcpStream::connect(("127.0.0.1", port)).ok()) else {
        return;
    };
    let both = |stream: &TcpStream| stream.try_clone().expect("a file is left");
    let ends = [(both(&client), both(&server)), (server, client)];
    for (from, to) in ends {
        let way = Arc::clone(way);
        thread::spawn(move || {
            pump(&from, &to, number, &way);
            // The other direction ends with this one.
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
}

fn pump(mut from: &TcpStream, mut to: &TcpStream, number: u32, way: &Mutex<Way>) {
    from.set_read_timeout(Some(LOOK)).expect("above zero");
    let mut buffer = [0; 16 * 1_024];
    while read(way).number == number {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(_) => return,
        };
        while read(way).silent {
            thread::sleep(LOOK);
        }
        if read(way).number != number || to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
