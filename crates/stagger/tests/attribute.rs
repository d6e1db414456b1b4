//! Functions under the attribute `#[stagger::retry]`.
#![cfg(all(feature = "macros", feature = "tokio"))]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use stagger::{Policy, Retrier, Stop};

#[derive(Debug, PartialEq)]
struct Busy(u32);

static SERVER: LazyLock<Retrier> = LazyLock::new(|| Retrier::of(Policy::interactive()));

#[derive(Default)]
struct Client {
    tries: AtomicU32,
}

impl Client {
    /// The doc of a method stays with it.
    #[stagger::retry(policy = "google-cloud", when = |_| true)]
    pub async fn third(&self, item: String) -> Result<String, stagger::Error<Busy>> {
        tokio::task::yield_now().await;
        let tries = self.tries.fetch_add(1, Ordering::Relaxed);
        if tries < 2 {
            return Err(Busy(tries));
        }
        Err(Busy(0)).or(Ok(item.clone()))
    }

    #[stagger::retry(retrier = SERVER, when = |busy| busy.0 < 1)]
    fn blocking<T: Clone>(&self, item: &T) -> Result<T, stagger::Error<Busy>> {
        match self.tries.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Busy(0)),
            1 => Err(Busy(1)),
            _ => Ok(item.clone()),
        }
    }
}

#[stagger::retry(policy = Policy::builder().max_attempts(2).build().expect("two are allowed"))]
async fn refused() -> Result<(), stagger::Error<std::io::Error>> {
    let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    Err(refused)?
}

#[tokio::test(start_paused = true)]
async fn a_function_is_retried_as_its_attribute_says() {
    let client = Client::default();
    assert_eq!(client.third("bolt".to_owned()).await.ok().as_deref(), Some("bolt"));
    assert_eq!(client.tries.load(Ordering::Relaxed), 3);
    let client = Client::default();
    let failed = client.blocking(&7).unwrap_err();
    assert_eq!((failed.stop(), failed.attempts()), (Stop::Permanent, 2));
    assert_eq!(failed.into_inner(), Some(Busy(1)));
    let failed = tokio::spawn(refused()).await.ok().and_then(Result::err);
    assert_eq!(failed.map(|failed| failed.attempts()), Some(2));
}
