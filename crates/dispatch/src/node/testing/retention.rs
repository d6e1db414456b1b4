//! Pruning by the retention of the node and by those of applications.

use std::sync::Arc;

use stagger::{Instant, Span};
use stagger_scheduler::model::{Application, NewMessage};
use stagger_store::testing::fixture::{app, application, message, msg};
use stagger_store::{DeliveryStore, MemoryStore};

use super::scheduler::parts;

const DAY: u64 = 24 * 60 * 60;

#[tokio::test]
async fn an_application_keeps_its_messages_for_its_own_time_and_never_longer_than_the_node() {
    let store = Arc::new(MemoryStore::default());
    let node_store: Arc<dyn DeliveryStore> = store.clone();
    let parts = parts(&node_store);
    let now = parts.pruner.clock.now();
    let ago = |days: u64| Instant::ORIGIN + (now - Instant::ORIGIN - Span::from_secs(days * DAY));
    let retentions = [(1, Some(7)), (2, None), (3, Some(90))];
    for (n, days) in retentions {
        let retention = days.map(|days| Span::from_secs(days * DAY));
        let application = Application { retention, ..application(n) };
        store.put_application(application.clone()).await.unwrap();
        parts.directory.put_application(application);
    }
    let cases = [
        (1, 1, 6, true),
        (2, 1, 8, false),
        (3, 2, 8, true),
        (4, 2, 31, false),
        (5, 3, 29, true),
        (6, 3, 31, false),
    ];
    for (n, of, days, _) in cases {
        let mut new: NewMessage = message(n, of, &[]);
        new.message.created_at = ago(days);
        store.accept(vec![new]).await.unwrap();
    }
    assert_eq!(parts.pruner.round().await.unwrap(), 3);
    for (n, of, _, stays) in cases {
        assert_eq!(store.message(msg(n)).await.unwrap().is_some(), stays, "{n} of {}", app(of));
        assert_eq!(store.payload(msg(n)).await.unwrap().is_some(), stays, "{n}");
    }
    assert_eq!(parts.pruner.round().await.unwrap(), 0);
}
