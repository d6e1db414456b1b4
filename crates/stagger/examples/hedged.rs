//! A read that is slow now and then, and a second copy of it that is not.
//!
//! One request in twenty meets a replica that collects garbage. A caller that makes several requests for
//! one page then has a slow page more often than not. A second copy, sent once a read takes longer
//! than most (p95, measured), answers instead. Copies are load, so each is paid from the budget: when
//! every read is slow, hedging must not double what the servers get.
//!
//! `cargo run -p stagger --example hedged --features tokio`
#![expect(clippy::print_stdout, reason = "an example shows its answers")]

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stagger::budget::WindowPlan;
use stagger::hedge::HedgePlan;
use stagger::{Clock, Policy, Ratio, Retrier, Sleep, Span, TokioTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const READS: u32 = 150;
const QUICK: Span = Span::from_millis(10);
const SLOW: Span = Span::from_secs(1);

/// One request in this many is slow.
#[derive(Default)]
struct Replicas {
    one_in: AtomicU32,
    requests: AtomicU32,
}

impl Replicas {
    async fn serve(self: Arc<Self>, listener: TcpListener) -> io::Result<()> {
        loop {
            let (mut client, _) = listener.accept().await?;
            let request = self.requests.fetch_add(1, Ordering::Relaxed);
            let slow = request % self.one_in.load(Ordering::Relaxed) == 0;
            tokio::spawn(async move {
                TokioTime.sleep(if slow { SLOW } else { QUICK }).await;
                client.write_all(b"42").await
            });
        }
    }
}

async fn read(address: SocketAddr) -> io::Result<String> {
    let mut answer = String::new();
    TcpStream::connect(address).await?.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let budget = WindowPlan::new(Ratio::from_percent(20))?;
    let policy = Policy::builder()
        .hedge(HedgePlan::quantile(Ratio::from_percent(95), Span::from_millis(50), 2)?)
        .budget(budget)
        .build()?;
    let retrier = Retrier::new(policy, TokioTime);
    let replicas = Arc::new(Replicas { one_in: 20.into(), ..Replicas::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(Arc::clone(&replicas).serve(listener));

    let mut slow = 0; // without copies it would be one in twenty
    for _ in 0..READS {
        let start = TokioTime.now();
        assert_eq!(retrier.retry(|| read(address)).hedged().await?, "42");
        slow += u32::from(TokioTime.now() - start >= SLOW);
    }
    let requests = replicas.requests.swap(0, Ordering::Relaxed);
    println!("{READS} reads: {slow} slow, with {} copies", requests - READS);
    assert!(slow < READS / 20 / 2);

    // Now all are slow. The budget lets a few copies through, and not one for each read.
    replicas.one_in.store(1, Ordering::Relaxed);
    let reads = [(); 100].map(|()| {
        let retrier = retrier.clone();
        tokio::spawn(async move { retrier.retry(|| read(address)).hedged().await })
    });
    for read in reads {
        assert_eq!(read.await??, "42");
    }
    let stats = retrier.ledger().stats(TokioTime.now());
    let copies = replicas.requests.load(Ordering::Relaxed) - 100;
    println!("100 slow reads: {copies} copies; {} were refused", stats.refusals);
    assert!(copies < 60 && stats.refusals > 0);
    Ok(())
}
