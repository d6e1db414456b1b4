//! Names to addresses: an asynchronous resolver, and the turn of each application at it.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{Resolver, TokioResolver};
use stagger::{Clock, Instant, Span, TokioTime};
use stagger_scheduler::model::ApplicationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::within;

/// Time for one question to one name server, and questions that are repeated: one lost packet.
const QUESTION_TIME: Duration = Duration::from_secs(2);
const QUESTIONS: usize = 2;
/// The longest lookup, with all questions and search domains.
const LOOKUP_TIME: Span = Span::from_secs(5);
/// Answers that are cached, by name and type, and for how long at most: a changed record takes effect within
/// minutes. A name that does not exist is asked for again sooner.
const CACHED: u64 = 8192;
const ANSWER_AGE: Duration = Duration::from_secs(300);
const NO_NAME_AGE: Duration = Duration::from_secs(30);
/// The time for which a name is not asked for again when no server has answered, and the most such names.
const SILENT_AGE: Span = Span::from_secs(10);
const SILENT: usize = 4096;
/// The interval between two looks whether the system's files have changed.
const FILES: Span = Span::from_secs(10);
const CONFIG_FILE: &str = "/etc/resolv.conf";
const HOSTS_FILE: &str = "/etc/hosts";

/// Lookups of all applications, of which each takes up to two sockets, and of one. Answers come within
/// milliseconds; names that hang must not take the turns of others.
const LOOKUPS: usize = 256;
const LOOKUPS_OF_ONE: usize = 16;
/// The longest wait for a turn.
const TURN_TIME: Span = Span::from_secs(5);

/// Resolves names; asked once for each connection.
#[async_trait]
pub trait Resolve: Send + Sync + fmt::Debug + 'static {
    /// All addresses of `name`, the preferred one first.
    ///
    /// # Errors
    /// The name has no address, or no server answers.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks name servers without a thread for each name: those of `/etc/resolv.conf`, after `/etc/hosts`, or those
/// that are given. Changes of these files take effect within 10 s. Other sources of the system's name service
/// switch, such as mDNS, are not asked.
#[derive(Default)]
pub struct SystemResolver {
    name_servers: Vec<SocketAddr>,
    current: Mutex<Option<CurrentResolver>>,
    /// Names whose servers did not answer, until when they are not asked for.
    silent: Mutex<HashMap<String, Instant>>,
}

/// A resolver, and the files that it was made from.
struct CurrentResolver {
    resolver: Arc<TokioResolver>,
    files: [Option<SystemTime>; 2],
    checked_at: Instant,
}

impl SystemResolver {
    /// A resolver that asks these servers, or those of the system if there are none.
    #[must_use]
    pub fn new(name_servers: Vec<SocketAddr>) -> Self {
        Self { name_servers, ..Self::default() }
    }

    /// The resolver by the files as they are now.
    fn current(&self) -> io::Result<Arc<TokioResolver>> {
        let now = TokioTime.now();
        let mut current = lock(&self.current);
        if let Some(known) = &mut *current {
            let is_checked = now.since(known.checked_at) < FILES;
            if is_checked || known.files == changed_at() {
                known.checked_at = if is_checked { known.checked_at } else { now };
                return Ok(Arc::clone(&known.resolver));
            }
        }
        let files = changed_at();
        let resolver = Arc::new(self.make()?);
        let made = CurrentResolver { resolver: Arc::clone(&resolver), files, checked_at: now };
        *current = Some(made);
        Ok(resolver)
    }

    fn make(&self) -> io::Result<TokioResolver> {
        let (config, mut options) = if self.name_servers.is_empty() {
            // A container may have no such file: glibc asks the local server then.
            read_system_conf().unwrap_or_else(|_| {
                let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 53));
                (servers(&[local]), ResolverOpts::default())
            })
        } else {
            (servers(&self.name_servers), ResolverOpts::default())
        };
        options.timeout = QUESTION_TIME;
        options.attempts = QUESTIONS;
        options.cache_size = CACHED;
        options.positive_max_ttl = Some(ANSWER_AGE);
        options.negative_max_ttl = Some(NO_NAME_AGE);
        // IPv4 first: a machine without IPv6 would try its way through addresses that it cannot reach.
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        Resolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(options)
            .build()
            .map_err(of_net)
    }

    fn is_silent(&self, name: &str) -> bool {
        let now = TokioTime.now();
        lock(&self.silent).get(name).is_some_and(|until| *until > now)
    }

    fn note_silent(&self, name: &str) {
        let now = TokioTime.now();
        let mut silent = lock(&self.silent);
        if silent.len() >= SILENT {
            silent.retain(|_, until| *until > now);
        }
        if silent.len() < SILENT {
            silent.insert(name.to_owned(), now + SILENT_AGE);
        }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if self.is_silent(name) {
            return Err(no_answer("no name server has answered for it a moment ago"));
        }
        let resolver = self.current()?;
        match within(LOOKUP_TIME, pin!(resolver.lookup_ip(name))).await {
            Some(Ok(answers)) => Ok(answers.iter().collect()),
            Some(Err(error)) if error.is_no_records_found() => Ok(Vec::new()),
            Some(Err(NetError::Timeout)) | None => {
                self.note_silent(name);
                Err(no_answer("no name server answers"))
            }
            Some(Err(error)) => Err(of_net(error)),
        }
    }
}

impl fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemResolver")
            .field("name_servers", &self.name_servers)
            .finish_non_exhaustive()
    }
}

/// The turns at the resolver. A tenant whose names hang waits for itself.
#[derive(Clone, Debug)]
pub(crate) struct LookupTurns {
    all: Arc<Semaphore>,
    /// An application without a lookup has no entry.
    applications: Arc<Mutex<HashMap<ApplicationId, Arc<Semaphore>>>>,
}

/// A turn, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct LookupTurn {
    turns: LookupTurns,
    application: ApplicationId,
    own: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
}

impl Default for LookupTurns {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(LOOKUPS)), applications: Arc::default() }
    }
}

impl LookupTurns {
    /// Waits for a turn; `None` if there was none in time.
    pub(crate) async fn take(&self, application: ApplicationId) -> Option<LookupTurn> {
        let own = {
            let mut applications = lock(&self.applications);
            let new = || Arc::new(Semaphore::new(LOOKUPS_OF_ONE));
            Arc::clone(applications.entry(application).or_insert_with(new))
        };
        let both = async {
            // Its own first: who waits for that holds no turn of all.
            let own = own.acquire_owned().await.ok()?;
            let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some((own, all))
        };
        let (own, all) = within(TURN_TIME, pin!(both)).await.flatten()?;
        Some(LookupTurn { turns: self.clone(), application, own: Some(own), _all: all })
    }
}

impl Drop for LookupTurn {
    fn drop(&mut self) {
        let mut applications = lock(&self.turns.applications);
        // Before the look at it, or it would never be free.
        self.own = None;
        let is_free = |turns: &Arc<Semaphore>| {
            Arc::strong_count(turns) == 1 && turns.available_permits() == LOOKUPS_OF_ONE
        };
        if applications.get(&self.application).is_some_and(is_free) {
            applications.remove(&self.application);
        }
    }
}

fn servers(addresses: &[SocketAddr]) -> ResolverConfig {
    let server = |address: &SocketAddr| {
        let (mut udp, mut tcp) = (ConnectionConfig::udp(), ConnectionConfig::tcp());
        (udp.port, tcp.port) = (address.port(), address.port());
        NameServerConfig::new(address.ip(), true, vec![udp, tcp])
    };
    ResolverConfig::from_name_servers(addresses.iter().map(server).collect())
}

/// When the system's files were changed.
fn changed_at() -> [Option<SystemTime>; 2] {
    [CONFIG_FILE, HOSTS_FILE].map(|file| fs::metadata(file).and_then(|it| it.modified()).ok())
}

fn no_answer(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

/// The number of an error of the system stays, so that a lack of descriptors can be told.
fn of_net(error: NetError) -> io::Error {
    match &error {
        NetError::Io(io) => match io.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::other(error),
        },
        _ => io::Error::other(error),
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::net::UdpSocket;
    use uuid::Uuid;

    use super::*;

    fn application(n: u128) -> ApplicationId {
        ApplicationId::from_uuid(Uuid::from_u128(n))
    }

    /// A name server that takes questions and answers none.
    async fn silent_server() -> (UdpSocket, SystemResolver) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("it is bound");
        (socket, SystemResolver::new(vec![address]))
    }

    #[tokio::test]
    async fn names_of_the_hosts_file_are_found_without_a_name_server() {
        let (_server, resolver) = silent_server().await;
        let found = resolver.resolve("localhost").await.expect("it stands in the file");
        assert!(found.contains(&IpAddr::from(Ipv4Addr::LOCALHOST)), "{found:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_hangs_was_asked_for_by_every_attempt() {
        let (server, resolver) = silent_server().await;
        let began = TokioTime.now();
        let error = resolver.resolve("hangs.test").await.expect_err("it never answers");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        let took = TokioTime.now().since(began);
        assert!(took <= LOOKUP_TIME, "{took}");
        let mut packet = [0; 512];
        while server.try_recv(&mut packet).is_ok() {}
        let again = TokioTime.now();
        resolver.resolve("hangs.test").await.expect_err("it is known");
        assert_eq!((TokioTime.now(), server.try_recv(&mut packet).is_err()), (again, true));
    }

    #[tokio::test(start_paused = true)]
    async fn names_of_one_application_that_hang_took_the_turns_of_others() {
        let turns = LookupTurns::default();
        let mut held = Vec::new();
        for _ in 0..LOOKUPS_OF_ONE {
            held.push(turns.take(application(1)).await.expect("a turn"));
        }
        let began = TokioTime.now();
        assert!(turns.take(application(2)).await.is_some());
        assert_eq!(TokioTime.now(), began, "another application did not wait");
        assert!(turns.take(application(1)).await.is_none());
        assert_eq!(TokioTime.now().since(began), TURN_TIME);
        held.pop();
        assert!(turns.take(application(1)).await.is_some());
        drop(held);
        assert!(lock(&turns.applications).is_empty(), "nothing is kept of those that are done");
    }
}
