//! An address that a test may point elsewhere, and a network that it may cut.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The interval at which a connection checks whether it is still to forward anything.
const LOOK: Duration = Duration::from_millis(2);

/// Carries what it is sent to one server; ends with the test.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    network: Arc<Network>,
}

#[derive(Debug)]
struct Network {
    way: Mutex<Way>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug)]
struct Way {
    to: Option<u16>,
    /// Holds back all bytes as long as it is set.
    silent: bool,
    /// Connections of an earlier one have ended.
    number: u32,
}

impl Proxy {
    /// An address in front of this port.
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let way = Mutex::new(Way { to: Some(port), silent: false, number: 0 });
        let network = Arc::new(Network { way, changed: Condvar::new() });
        let port = listener.local_addr().expect("an address").port();
        let proxy = Self { port, network: Arc::clone(&network) };
        // It waits for connections until the process of the test ends.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                carry(client, &network);
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
        change(&mut self.network.way.lock().unwrap_or_else(PoisonError::into_inner));
        self.network.changed.notify_all();
    }
}

impl Network {
    fn way(&self) -> Way {
        *self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As long as nothing arrives; whether a connection of this number still carries anything then.
    fn carries(&self, number: u32) -> bool {
        let way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |way: &mut Way| way.silent && way.number == number;
        let way = self.changed.wait_while(way, holds).unwrap_or_else(PoisonError::into_inner);
        way.number == number
    }
}

fn carry(client: TcpStream, network: &Arc<Network>) {
    let Way { to, number, .. } = network.way();
    // Without a server behind it, the connection ends at once.
    let Some(server) = to.and_then(|port| TcpStream::connect(("127.0.0.1", port)).ok()) else {
        return;
    };
    let both = |stream: &TcpStream| stream.try_clone().expect("a file is left");
    let ends = [(both(&client), both(&server)), (server, client)];
    for (from, to) in ends {
        let network = Arc::clone(network);
        thread::spawn(move || {
            pump(&from, &to, number, &network);
            // The other direction ends with this one.
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    }
}

fn pump(mut from: &TcpStream, mut to: &TcpStream, number: u32, network: &Network) {
    from.set_read_timeout(Some(LOOK)).expect("above zero");
    let mut buffer = [0; 16 * 1_024];
    while network.way().number == number {
        let length = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(_) => return,
        };
        if !network.carries(number) || to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
