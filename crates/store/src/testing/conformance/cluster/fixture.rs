//! The suite as a macro, and the nodes and answers that its checks share.

use stagger_scheduler::model::{Delivery, EndpointId, MessageId, NewMessage};

use crate::testing::conformance::suite::names;
use crate::testing::fixture::{ep, furnish};
use crate::{
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
        let ann = cluster.join(&"ann".into()).await.unwrap().fence;
        let bob = cluster.join(&"bob".into()).await.unwrap().fence;
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

/// Runs them on the store that an expression opens.
macro_rules! cluster_suite {
    ($open:expr) => {
        $crate::testing::conformance::each! { $open;
            the_cluster_view_has_all_members,
            a_member_is_shown_with_its_version_and_start,
            heartbeats_are_counted_and_record_leaving_members,
            a_member_with_a_newer_heartbeat_is_not_evicted,
            an_evicted_member_leads_and_writes_nothing,
            a_member_that_left_leads_and_writes_nothing,
            all_members_settle,
            a_run_has_the_store_alone,
            notifications_reach_all_members,
            no_shard_is_led_twice,
            takes_at_once_share_what_is_free,
            no_more_shards_are_taken_than_wanted,
            shards_given_up_are_free,
            each_end_of_the_shards_is_led,
            open_deliveries_are_loaded_oldest_first,
            a_long_backlog_is_loaded_whole,
            loading_covers_what_has_arrived,
            deliveries_for_other_leaders_arrive,
            a_node_that_leads_nothing_takes_messages,
            messages_of_a_store_all_arrive,
            a_repeated_message_arrives_once,
            a_large_payload_does_not_arrive,
            settings_that_were_not_followed_are_outdated,
            an_application_that_is_gone_takes_no_messages,
            accepts_at_once_arrive_once_each,
            arrivals_are_answered_until_they_are_done,
            arrivals_show_deliveries_as_they_are,
            deleted_deliveries_do_not_arrive,
            replays_arrive,
            operational_messages_arrive,
            the_change_log_has_the_current_settings,
            the_change_log_has_deletions,
            the_change_log_has_documents,
            an_application_is_told_of_before_its_endpoints,
            a_learned_state_is_no_setting_change,
            old_changes_are_returned_complete_or_not_at_all,
            commands_are_kept_until_they_are_complete,
            there_are_no_commands_for_deleted_endpoints,
            a_standing_is_as_it_was_settled,
            the_cluster_view_counts_open_deliveries,
        }
    };
}

pub(crate) use cluster_suite;
