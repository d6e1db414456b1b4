//! A proxy between one node and its database, which can be cut.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Bytes that are passed on at once.
const BUFFER: usize = 1 << 14;

/// The state of a cable.
#[derive(Clone, Copy, Debug, Default)]
struct CableState {
    cut: bool,
    /// The number of times that connections were forgotten.
    era: u64,
}

/// Passes on what clients and server say; while it is cut nothing, and nobody is told.
#[derive(Debug)]
pub(crate) struct Cable {
    addr: SocketAddr,
    state: watch::Sender<CableState>,
    listening: JoinHandle<()>,
}

impl Cable {
    /// A whole one, from a free port of loopback to the server that listens on `socket`.
    pub(crate) async fn lay(socket: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let (state, seen) = watch::channel(CableState::default());
        let socket = socket.to_owned();
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, socket.clone(), seen.clone()));
            }
        });
        Ok(Self { addr, state, listening })
    }

    pub(crate) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// From now on nothing gets through, in either direction.
    pub(crate) fn cut(&self) {
        self.state.send_modify(|state| state.cut = true);
    }

    /// Forwards the held bytes, as if they were sent again; or, when it is `forgetful`, ends all
    /// connections, as a restarted router does.
    pub(crate) fn mend(&self, forgetful: bool) {
        self.state.send_modify(|state| {
            state.cut = false;
            state.era += u64::from(forgetful);
        });
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// One connection, until one side ends it or it is forgotten.
async fn carry(client: TcpStream, socket: PathBuf, mut state: watch::Receiver<CableState>) {
    let era = state.borrow().era;
    let mut seen = state.clone();
    let connection = async {
        whole(&mut seen).await?;
        // A server that is away ends the connection, which is what its own machine would do.
        let server = UnixStream::connect(&socket).await?;
        client.set_nodelay(true)?;
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::select! {
            ended = pump(from_client, to_server, seen.clone()) => ended,
            ended = pump(from_server, to_client, seen.clone()) => ended,
        }
    };
    tokio::select! {
        // Whoever broke it, the other side is told by the end of it.
        _ = connection => {}
        _ = state.wait_for(|state| state.era > era) => {}
    }
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut state: watch::Receiver<CableState>,
) -> io::Result<()> {
    let mut bytes = vec![0; BUFFER];
    loop {
        let read = from.read(&mut bytes).await?;
        // The end of a connection does not get through a cut either.
        whole(&mut state).await?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..read]).await?;
    }
}

async fn whole(state: &mut watch::Receiver<CableState>) -> io::Result<()> {
    state.wait_for(|state| !state.cut).await.map(drop).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;
    use crate::rig::ScratchFolder;

    /// A cable to a server that sends back what it gets, and the folder of its socket.
    async fn to_an_echo(name: &str) -> (Cable, ScratchFolder) {
        let folder = ScratchFolder::new(name).expect("there is a temporary folder");
        let socket = folder.path().join("socket");
        let listener = UnixListener::bind(&socket).expect("nobody listens there");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        (Cable::lay(&socket).await.expect("loopback has ports"), folder)
    }

    async fn said(client: &mut TcpStream) -> io::Result<u8> {
        client.read_u8().await
    }

    #[tokio::test]
    async fn what_is_said_during_a_cut_arrives_after_it() {
        let (cable, _folder) = to_an_echo("cable").await;
        let mut client = TcpStream::connect(cable.addr()).await.expect("it listens");
        client.write_u8(1).await.expect("it is open");
        assert_eq!(said(&mut client).await.expect("it is open"), 1);
        cable.cut();
        client.write_u8(2).await.expect("nobody is told");
        let mut late = TcpStream::connect(cable.addr()).await.expect("nobody is told");
        late.write_u8(3).await.expect("nobody is told");
        // Whatever could get through has its turn.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let mut byte = [0];
        assert!(client.try_read(&mut byte).is_err() && late.try_read(&mut byte).is_err());
        cable.mend(false);
        assert_eq!(said(&mut client).await.expect("it went on"), 2);
        assert_eq!(said(&mut late).await.expect("it went on"), 3);
    }

    #[tokio::test]
    async fn a_forgetful_mend_ends_what_was_connected() {
        let (cable, _folder) = to_an_echo("forgetful-cable").await;
        let mut client = TcpStream::connect(cable.addr()).await.expect("it listens");
        client.write_u8(1).await.expect("it is open");
        assert_eq!(said(&mut client).await.expect("it is open"), 1);
        cable.cut();
        cable.mend(true);
        assert!(said(&mut client).await.is_err());
        let mut client = TcpStream::connect(cable.addr()).await.expect("it listens");
        client.write_u8(2).await.expect("it is open");
        assert_eq!(said(&mut client).await.expect("a new one is passed on"), 2);
    }
}
