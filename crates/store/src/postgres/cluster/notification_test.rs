//! Hints from one process to another, also after the server was away.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::super::test_schema::TestSchema;
use super::super::test_server::OwnServer;
use crate::{Cluster, Notification, ShardId, Shards};

/// The longest time that an operation may take, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

fn work(shards: &[u8]) -> Notification {
    Notification::Work(shards.iter().copied().map(ShardId).collect())
}

/// Receives until it is this notification.
async fn hear(notifications: &mut UnboundedReceiver<Notification>, wanted: Notification) {
    let hear = async { while notifications.recv().await.expect("hints never end") != wanted {} };
    timeout(TIMEOUT, hear).await.expect("it is told");
}

#[tokio::test]
async fn notifications_reach_other_processes_of_the_same_schema() {
    let (Some(schema), Some(other)) = (TestSchema::new().await, TestSchema::new().await) else {
        return;
    };
    let (ann, bob, stranger) = (schema.open().await, schema.open().await, other.open().await);
    let mut of_ann = ann.join(&"ann".into()).await.unwrap().notifications;
    let mut of_bob = bob.join(&"bob".into()).await.unwrap().notifications;
    let mut of_stranger = stranger.join(&"carl".into()).await.unwrap().notifications;
    for notification in [work(&[0, 7, 255]), Notification::Members, Notification::Settings] {
        bob.notify(notification).await;
        // No other notification was sent before.
        assert_eq!(timeout(TIMEOUT, of_ann.recv()).await.unwrap(), Some(notification));
        assert_eq!(timeout(TIMEOUT, of_bob.recv()).await.unwrap(), Some(notification));
    }
    stranger.notify(Notification::Members).await;
    hear(&mut of_stranger, Notification::Members).await;
    assert!(of_ann.try_recv().is_err() && of_bob.try_recv().is_err());
}

#[tokio::test]
async fn many_notifications_are_sent_as_few() {
    let Some(schema) = TestSchema::new().await else { return };
    let (ann, bob) = (schema.open().await, schema.open().await);
    let mut notifications = ann.join(&"ann".into()).await.unwrap().notifications;
    bob.join(&"bob".into()).await.unwrap();
    for n in 0..=u8::MAX {
        for _ in 0..40 {
            bob.notify(work(&[n])).await;
        }
    }
    let mut heard = (0, Shards::NONE);
    while heard.1 != Shards::ALL {
        let Some(Notification::Work(shards)) =
            timeout(TIMEOUT, notifications.recv()).await.unwrap()
        else {
            panic!("only work was hinted at");
        };
        heard = (heard.0 + 1, heard.1.union(shards));
    }
    // Ten thousand were given, within the time of some pauses.
    assert!(heard.0 < 1000, "{heard:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_resume_after_a_restart_and_end_with_the_store() {
    let Some(server) = OwnServer::start("hints") else { return };
    let schema = TestSchema::of(server.url.clone()).await;
    let (ann, bob) = (schema.open().await, schema.open().await);
    let mut notifications = ann.join(&"ann".into()).await.unwrap().notifications;
    bob.join(&"bob".into()).await.unwrap();
    tokio::task::block_in_place(|| {
        server.stop();
        server.go_on();
    });
    // Whatever was missed meanwhile.
    for notification in
        [Notification::Work(Shards::ALL), Notification::Members, Notification::Settings]
    {
        hear(&mut notifications, notification).await;
    }
    let tell = async {
        loop {
            // The other may not be back yet.
            bob.notify(work(&[3])).await;
            if let Ok(told) = timeout(Duration::from_millis(50), notifications.recv()).await
                && told == Some(work(&[3]))
            {
                return;
            }
        }
    };
    timeout(TIMEOUT, tell).await.expect("it is told");
    drop((ann, bob));
    let client = schema.connect().await;
    let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stagger'";
    let end = async { while client.query_one(left, &[]).await.unwrap().get::<_, i64>(0) > 0 {} };
    timeout(TIMEOUT, end).await.expect("no connection is left");
    assert_eq!(notifications.recv().await, None);
}
