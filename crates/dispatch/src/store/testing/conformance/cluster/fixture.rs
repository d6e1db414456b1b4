//! A fixture with two members.

use crate::model::{Delivery, EndpointId, MessageId, NewMessage};
use crate::store::testing::conformance::answers::names;
use crate::store::testing::fixture::{ep, furnish};
use crate::store::{
    Arrival, Cluster, ClusterAccept, ClusterView, DeliveryStore, Fence, Lead, ShardId, Shards,
};

/// Members of a store with applications and endpoints.
pub(super) struct ClusterFixture<'s> {
    pub(super) cluster: &'s dyn Cluster,
    pub(super) ann: Fence,
    pub(super) bob: Fence,
}

impl<'s> ClusterFixture<'s> {
    pub(super) async fn of(store: &'s dyn DeliveryStore) -> Self {
        furnish(store).await;
        let cluster = store.cluster().expect("several nodes can share it");
        let ann = cluster.join("ann").await.unwrap().fence;
        let bob = cluster.join("bob").await.unwrap().fence;
        Self { cluster, ann, bob }
    }

    /// Makes one member the only leader of these endpoints, and of nothing more.
    pub(super) async fn leads(&self, member: Fence, endpoints: &[u64]) -> Lead {
        self.cluster.acquire(member, Shards::COUNT).await.unwrap();
        let shards = shards(endpoints);
        self.cluster.release(member, Shards::ALL.without(shards)).await.unwrap();
        assert_eq!(self.shards_of(member).await, shards);
        Lead { fence: member, shards }
    }

    /// The cluster view as bob sees it.
    pub(super) async fn cluster_view(&self) -> ClusterView {
        self.cluster.heartbeat(self.bob, false).await.unwrap()
    }

    pub(super) async fn shards_of(&self, member: Fence) -> Shards {
        let members = self.cluster_view().await.members;
        members.into_iter().find(|it| it.fence == member).map(|it| it.shards).unwrap_or_default()
    }

    /// The number of the last change of settings.
    pub(super) async fn settings_version(&self) -> u64 {
        self.cluster.changes_since(0).await.unwrap().to
    }

    /// Accepts with the current settings version; returns which messages existed before.
    pub(super) async fn accept(&self, lead: Lead, messages: Vec<NewMessage>) -> Vec<bool> {
        let entry =
            self.cluster.accept(lead, self.settings_version().await, messages).await.unwrap();
        let ClusterAccept::Stored(accepted) = entry else { panic!("it is not stored: {entry:?}") };
        accepted.iter().map(|accepted| accepted.repeated).collect()
    }

    /// All arrivals for these endpoints.
    pub(super) async fn arrivals(&self, endpoints: &[u64]) -> Vec<Arrival> {
        self.cluster.arrivals(shards(endpoints), &[], 9999).await.unwrap()
    }

    /// The open deliveries that arrive for these endpoints.
    pub(super) async fn arrived(&self, endpoints: &[u64]) -> Vec<(MessageId, EndpointId)> {
        let arrivals = self.arrivals(endpoints).await;
        names(&arrivals.iter().filter_map(|it| it.delivery).collect::<Vec<_>>())
    }

    /// The open deliveries of `shards`, and the arrivals that are covered.
    pub(super) async fn load(&self, shards: Shards) -> (Vec<Delivery>, Vec<u64>) {
        let mut found = Vec::new();
        let mut page = |page: Vec<Delivery>| {
            assert!(!page.is_empty());
            found.extend(page);
        };
        let mut covered = self.cluster.load(shards, &mut page).await.unwrap();
        covered.sort_unstable();
        (found, covered)
    }
}

pub(super) fn shards(endpoints: &[u64]) -> Shards {
    endpoints.iter().map(|n| ShardId::of(ep(*n))).collect()
}

pub(super) fn numbers(arrivals: &[Arrival]) -> Vec<u64> {
    arrivals.iter().map(|arrival| arrival.number).collect()
}
