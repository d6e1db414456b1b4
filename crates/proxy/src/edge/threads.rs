//! The threads that serve connections, each with a runtime of its own, so that no request changes its thread.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, thread};

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

/// Running threads, which end when this is dropped, with all connections that they serve.
#[derive(Debug)]
pub(crate) struct ServingThreads {
    pool: ThreadPool,
    _running: watch::Sender<()>,
}

/// The threads among which connections are shared out. Without any, connections are served by the runtime that accepts
/// them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadPool(Arc<[ServingThread]>);

#[derive(Debug)]
struct ServingThread {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
}

/// The share of one connection in the work of its thread, until dropped.
#[derive(Debug)]
pub(super) struct ThreadShare(Option<Arc<AtomicUsize>>);

impl ServingThreads {
    /// Starts so many threads.
    ///
    /// # Errors
    /// The system has no more threads or descriptors.
    pub(crate) fn start(count: NonZeroUsize) -> io::Result<Self> {
        let (running, stopped) = watch::channel(());
        let threads = (0..count.get()).map(|_| ServingThread::start(stopped.clone()));
        let threads = threads.collect::<io::Result<Arc<[_]>>>()?;
        Ok(Self { pool: ThreadPool(threads), _running: running })
    }

    /// The threads, for listeners.
    pub(crate) fn pool(&self) -> ThreadPool {
        self.pool.clone()
    }
}

impl ServingThread {
    fn start(mut stopped: watch::Receiver<()>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let serve = move || {
            // It fails when the sender is gone, which is the end.
            _ = runtime.block_on(stopped.changed());
            // A name lookup under way must not hold the end up.
            runtime.shutdown_background();
        };
        thread::Builder::new().name("stagger-proxy".into()).spawn(serve)?;
        Ok(Self { runtime: handle, connections: Arc::default() })
    }
}

impl ThreadPool {
    /// Serves a connection by the thread that has the fewest.
    pub(super) fn serve<F, R>(&self, stream: TcpStream, serve: F)
    where
        F: FnOnce(TcpStream, ThreadShare) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let load = |thread: &&ServingThread| thread.connections.load(Ordering::Relaxed);
        let Some(thread) = self.0.iter().min_by_key(load) else {
            tokio::spawn(serve(stream, ThreadShare(None)));
            return;
        };
        thread.connections.fetch_add(1, Ordering::Relaxed);
        let share = ThreadShare(Some(Arc::clone(&thread.connections)));
        // It fails only for a stream that no runtime knows.
        let Ok(stream) = stream.into_std() else { return };
        thread.runtime.spawn(async move {
            // It fails without a descriptor to spare: the client sees a connection that closes.
            if let Ok(stream) = TcpStream::from_std(stream) {
                serve(stream, share).await;
            }
        });
    }
}

impl Drop for ThreadShare {
    fn drop(&mut self) {
        if let Some(connections) = &self.0 {
            connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
