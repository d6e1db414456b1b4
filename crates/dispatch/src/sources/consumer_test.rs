//! A consumer with a real node, and with a source whose rounds are written down.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use stagger::Instant;
use stagger_brokers::{AckId, BrokerMessage, Disposition, Source, SourceFailure};
use stagger_scheduler::model::{Application, ApplicationId};
use stagger_sender::{SendOptions, Sender};
use stagger_store::MessageFilter;
use stagger_store::testing::{FaultyStore, LinkFault};
use stagger_store::{Cursor, PageRequest};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use super::consumer::Consumer;
use crate::config::{SourceKind, SourceSettings};
use crate::node::{Node, NodeOptions};

/// The answers of a consumer to the broker: the id of each message, and a word.
type Settled = mpsc::UnboundedReceiver<(String, &'static str)>;

/// The answers of a broker to the next calls.
type Rounds = VecDeque<Result<Vec<BrokerMessage>, &'static str>>;

/// A broker with these rounds, which then stays silent.
#[derive(Debug)]
struct WrittenSource {
    rounds: Arc<Mutex<Rounds>>,
    settled: mpsc::UnboundedSender<(String, &'static str)>,
}

#[async_trait::async_trait]
impl Source for WrittenSource {
    async fn receive(&mut self) -> Result<Vec<BrokerMessage>, SourceFailure> {
        let next = self.rounds.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match next {
            Some(Ok(round)) => Ok(round),
            Some(Err(why)) => Err(SourceFailure::new(why)),
            None => std::future::pending().await,
        }
    }

    async fn settle(&mut self, ack_id: AckId, fate: Disposition) -> Result<(), SourceFailure> {
        let word = match fate {
            Disposition::Accepted => "accepted",
            Disposition::Poison(..) => "poison",
            Disposition::Later => "later",
        };
        self.settled.send((ack_id.as_str().to_owned(), word)).map_err(SourceFailure::new)
    }
}

fn arrival(id: &str, payload: impl Into<Bytes>, headers: &[(&str, &str)]) -> BrokerMessage {
    let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    BrokerMessage { id: id.into(), headers, payload: payload.into(), ack_id: AckId::new(id) }
}

const TYPE: (&str, &str) = ("stagger-event-type", "order.new");
const APP: (&str, &str) = ("stagger-application", "uid:shop");

async fn start(
    rounds: Vec<Result<Vec<BrokerMessage>, &'static str>>,
) -> (FaultyStore, Node, Settled, watch::Sender<bool>) {
    let store = FaultyStore::shared();
    let sender = Sender::new(SendOptions::default()).unwrap();
    let node = Node::start(Arc::new(store.handle()), sender, NodeOptions::default()).await.unwrap();
    let id = ApplicationId::from_uuid(Uuid::from_u128(1));
    let mut application = Application::new(id, "shop", NonZeroU32::MIN, Instant::ORIGIN);
    application.labels.uid = Some("shop".parse().unwrap());
    node.put_application(application).await.unwrap();
    let (settled, told) = mpsc::unbounded_channel();
    let source = Box::new(WrittenSource { rounds: Arc::new(Mutex::new(rounds.into())), settled });
    let (stop, stopped) = watch::channel(false);
    let settings = Arc::new(SourceSettings {
        name: "orders".into(),
        application: None,
        event_type: None,
        json: true,
        kind: SourceKind::Unbuilt("none"),
    });
    let consumer = Consumer { node: node.clone(), source, settings, max_payload: 100, stopped };
    tokio::spawn(consumer.run());
    (store, node, told, stop)
}

async fn next(told: &mut Settled) -> (String, &'static str) {
    told.recv().await.expect("the consumer runs")
}

async fn stored(node: &Node) -> usize {
    let page = PageRequest { after: None::<Cursor>, limit: 100 };
    let app = ApplicationId::from_uuid(Uuid::from_u128(1));
    node.store().messages(app, MessageFilter::default(), page).await.unwrap().items.len()
}

#[tokio::test]
async fn a_poison_message_holds_up_no_other_and_one_that_comes_again_is_accepted_once() {
    let round = vec![
        arrival("1", "{}", &[TYPE, APP]),
        arrival("no json", "{", &[TYPE, APP]),
        arrival("too large", format!("\"{}\"", "x".repeat(99)), &[TYPE, APP]),
        arrival("no type", "{}", &[APP]),
        arrival("no application", "{}", &[TYPE]),
        arrival("unknown application", "{}", &[TYPE, ("stagger-application", "uid:nobody")]),
        arrival("operational", "{}", &[("stagger-event-type", "stagger.test"), APP]),
        arrival("2", "{}", &[TYPE, APP]),
    ];
    let again = vec![arrival("1", "{}", &[TYPE, APP]), arrival("2", "{\"other\":1}", &[TYPE, APP])];
    let (_store, node, mut told, _stop) = start(vec![Ok(round), Err("away"), Ok(again)]).await;
    let mut first = Vec::new();
    for _ in 0..8 {
        first.push(next(&mut told).await);
    }
    for (id, word) in &first {
        let expected = if id == "1" || id == "2" { "accepted" } else { "poison" };
        assert_eq!(*word, expected, "{id}");
    }
    let mut second = [next(&mut told).await, next(&mut told).await];
    second.sort();
    assert_eq!(second, [("1".to_owned(), "accepted"), ("2".to_owned(), "poison")]);
    assert_eq!(stored(&node).await, 2);
}

#[tokio::test]
async fn a_consumer_that_is_stopped_has_settled_what_it_received() {
    let one = || Ok(vec![arrival("1", "{}", &[TYPE, APP])]);
    let (_store, node, mut told, stop) = start(vec![one()]).await;
    assert_eq!(next(&mut told).await, ("1".to_owned(), "accepted"));
    assert_eq!(stored(&node).await, 1);
    stop.send_replace(true);
    assert!(told.recv().await.is_none(), "a consumer that was stopped ends");
}

#[tokio::test]
async fn a_message_comes_again_until_the_store_is_back() {
    let store = FaultyStore::shared();
    let handle = Arc::new(store.handle());
    let sender = Sender::new(SendOptions::default()).unwrap();
    let node = Node::start(handle.clone(), sender, NodeOptions::default()).await.unwrap();
    let id = ApplicationId::from_uuid(Uuid::from_u128(1));
    let mut application = Application::new(id, "shop", NonZeroU32::MIN, Instant::ORIGIN);
    application.labels.uid = Some("shop".parse().unwrap());
    node.put_application(application).await.unwrap();
    let settings = SourceSettings {
        name: "orders".into(),
        application: None,
        event_type: None,
        json: true,
        kind: SourceKind::Unbuilt("none"),
    };
    let one = arrival("1", "{}", &[TYPE, APP]);
    handle.cut(LinkFault::Refused);
    let (outcome, fate) = super::accept::accept(&node, (&settings, 100), &one).await;
    assert_eq!(outcome, super::accept::SourceOutcome::Later);
    assert!(matches!(fate, Disposition::Later));
    handle.mend();
    let (_, fate) = super::accept::accept(&node, (&settings, 100), &one).await;
    assert!(matches!(fate, Disposition::Accepted));
}
