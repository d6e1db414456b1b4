//! One node's way to a store in memory that several share, which a test can cut.

use tokio::sync::watch;

use crate::Error;

/// A fault in the link between a node and a store that it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// Calls fail immediately, and change nothing.
    Refused,
    /// Calls do nothing until the line is whole again, and are made then.
    Silent,
    /// Calls take effect, but their answers are lost. The node does not know then whether they did.
    /// Calls that have to know answer once the link is restored; all others fail.
    Unanswered,
}

/// The result of a call whose answer was lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doubt {
    /// It fails: repeating it has the same effect.
    Fails,
    /// It answers once that is possible.
    Waits,
}

#[derive(Debug)]
pub(super) struct StoreLink {
    cut: watch::Sender<Option<LinkFault>>,
}

impl StoreLink {
    pub(super) fn set(&self, cut: Option<LinkFault>) {
        self.cut.send_replace(cut);
    }

    pub(super) fn is_whole(&self) -> bool {
        self.now().is_none()
    }

    /// Makes a call as far as the line lets it.
    pub(super) async fn call<T>(
        &self,
        doubt: Doubt,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        while self.now() == Some(LinkFault::Silent) {
            self.whole().await;
        }
        match (self.now(), doubt) {
            (None, _) => work(),
            (Some(LinkFault::Unanswered), Doubt::Fails) => work().and(Err(away())),
            (Some(LinkFault::Unanswered), Doubt::Waits) => {
                let answer = work();
                self.whole().await;
                answer
            }
            (Some(LinkFault::Refused | LinkFault::Silent), _) => Err(away()),
        }
    }

    fn now(&self) -> Option<LinkFault> {
        *self.cut.borrow()
    }

    async fn whole(&self) {
        let mut cut = self.cut.subscribe();
        // It cannot close: this line holds its sender.
        _ = cut.wait_for(Option::is_none).await;
    }
}

impl Default for StoreLink {
    fn default() -> Self {
        Self { cut: watch::Sender::new(None) }
    }
}

fn away() -> Error {
    Error::store("the node is cut off")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::store::testing::fixture::{furnish, message, msg};
    use crate::store::{Cluster, ClusterAccept, DeliveryStore, Lead, MemoryStore, Notification};

    #[tokio::test]
    async fn a_refused_call_changes_nothing() {
        let store = MemoryStore::shared();
        furnish(&store).await;
        store.cut(LinkFault::Refused);
        assert!(enter(&store).await.unwrap_err().is_unavailable());
        assert!(store.check().await.unwrap_err().is_unavailable());
        assert_eq!(store.handle().message(msg(1)).await.unwrap(), None);
        store.mend();
        assert!(matches!(enter(&store).await.unwrap(), ClusterAccept::Stored(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_line_makes_calls_once_it_is_whole() {
        let store = MemoryStore::shared();
        furnish(&store).await;
        store.cut(LinkFault::Silent);
        let call = async {
            let waits = timeout(Duration::from_secs(3600), store.message(msg(1))).await;
            assert!(waits.is_err());
            assert_eq!(store.handle().message(msg(1)).await.unwrap(), None);
            store.mend();
        };
        let (entry, ()) = tokio::join!(enter(&store), call);
        assert!(matches!(entry.unwrap(), ClusterAccept::Stored(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unanswered_call_has_taken_effect() {
        let store = MemoryStore::shared();
        furnish(&store).await;
        let (ann, other) = (store.join("ann").await.unwrap().fence, store.handle());
        let bob = other.join("bob").await.unwrap().fence;
        store.cut(LinkFault::Unanswered);
        assert!(store.heartbeat(ann, false).await.unwrap_err().is_unavailable());
        assert_eq!(other.heartbeat(bob, false).await.unwrap().members[0].heartbeat, 1);
        let watch = async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            assert!(other.message(msg(1)).await.unwrap().is_some());
            store.mend();
        };
        let (entry, ()) = tokio::join!(enter(&store), watch);
        let ClusterAccept::Stored(accepted) = entry.unwrap() else { panic!("it was stored") };
        assert!(!accepted[0].repeated);
    }

    #[tokio::test]
    async fn a_cut_off_node_neither_sends_nor_receives_notifications() {
        let ann = MemoryStore::shared();
        let bob = ann.handle();
        let mut to_ann = ann.join("ann").await.unwrap().notifications;
        let mut to_bob = bob.join("bob").await.unwrap().notifications;
        ann.cut(LinkFault::Silent);
        ann.notify(Notification::Members).await;
        bob.notify(Notification::Settings).await;
        ann.mend();
        bob.lose_notifications(true);
        ann.notify(Notification::Members).await;
        bob.lose_notifications(false);
        assert_eq!(to_bob.try_recv().unwrap(), Notification::Settings);
        assert!(to_bob.try_recv().is_err() && to_ann.try_recv().is_err());
        ann.notify(Notification::Members).await;
        assert_eq!(
            (to_ann.recv().await, to_bob.recv().await),
            (Some(Notification::Members), Some(Notification::Members))
        );
    }

    async fn enter(store: &MemoryStore) -> Result<ClusterAccept, Error> {
        Cluster::accept(store, Lead::default(), u64::MAX, vec![message(1, 1, &[1])]).await
    }
}
