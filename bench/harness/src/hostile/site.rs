//! A dispatcher under attack: the process, the victim, and the attacker's tenant.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::attacker::AttackerThread;
use super::victim::Victim;
use crate::rig::{
    Arrival, Connection, Driver, Home, HttpRequest, Process, Reaction, Receiver, StoreKind,
    Witness, cpu_ms,
};

/// Connections that the dispatcher may have: fewer than the attackers open.
const CONNECTIONS: &str = "512";

/// Everything that one attack needs; all of it ends when this is dropped.
#[derive(Debug)]
pub(super) struct AttackSite {
    pub(super) victim: Victim,
    pub(super) addr: SocketAddr,
    /// The attacker's application.
    pub(super) application: String,
    pub(super) attacker: AttackerThread,
    _servers: Vec<Receiver>,
    _name_server: UdpSocket,
    process: Process,
    _home: Home,
}

/// The endpoints of the attacker, at one receiver.
pub(super) struct AttackerEndpoints {
    pub(super) count: usize,
    pub(super) reaction: Reaction,
    pub(super) settings: Value,
    /// Whether each has a name, which no server resolves.
    pub(super) named: bool,
    pub(super) disabled: bool,
}

impl AttackerEndpoints {
    async fn make(
        self,
        driver: &mut Driver,
        attacker: &AttackerThread,
    ) -> Result<Receiver, Box<dyn Error>> {
        let receiver = attacker.run(Receiver::start(Arc::new(Always(self.reaction)))).await??;
        for n in 0..self.count {
            let (mut settings, mut url) = (self.settings.clone(), receiver.url(n));
            if self.named {
                url = url.replace("127.0.0.1", &format!("name-{n}.hangs.test"));
            }
            settings["url"] = json!(url);
            let endpoint = driver.endpoint(&settings).await?;
            if self.disabled {
                driver.disable(&endpoint).await?;
            }
        }
        Ok(receiver)
    }
}

/// A receiver that takes everything the same way.
struct Always(Reaction);

impl Witness for Always {
    fn arrived(&self, _: &Arrival<'_>) -> Reaction {
        self.0
    }
}

impl AttackSite {
    /// Starts the dispatcher, with a name server that never answers, and makes the attacker's endpoints.
    pub(super) async fn start(
        binary: &Path,
        endpoints: Option<AttackerEndpoints>,
    ) -> Result<Self, Box<dyn Error>> {
        let home = Home::new("hostile", StoreKind::Embedded)?;
        let name_server = UdpSocket::bind("127.0.0.1:0").await?;
        let dns = name_server.local_addr()?.to_string();
        let options = ["--connections", CONNECTIONS, "--name-servers", &dns];
        let mut process = Process::spawn_with(binary, &home.site(0)?, &options)?;
        let addr = process.address().await?;
        let victim = Victim::start(addr).await?;
        let mut driver = Driver::new(addr).await?;
        let (attacker, mut servers) = (AttackerThread::start()?, Vec::new());
        if let Some(endpoints) = endpoints {
            servers.push(endpoints.make(&mut driver, &attacker).await?);
        }
        let application = driver.application().to_owned();
        let (_servers, _name_server, _home) = (servers, name_server, home);
        Ok(Self { victim, addr, application, attacker, process, _servers, _name_server, _home })
    }

    /// Processor time used so far by the node, and by the victim and the attacker, which are this process, in ms.
    pub(super) fn cpu_ms(&self) -> Result<[u64; 2], Box<dyn Error>> {
        Ok([self.process.cpu_ms()?, cpu_ms(std::process::id())?])
    }

    /// Whether the node says that it is ready.
    pub(super) async fn is_ready(&self) -> bool {
        let ask = async {
            let mut connection = Connection::open(self.addr).await?;
            connection
                .send(&HttpRequest::new("GET", "/readyz", "", &[], ""))
                .await
                .map(|it| it.status)
        };
        matches!(timeout(Duration::from_secs(5), ask).await, Ok(Ok(200)))
    }
}
