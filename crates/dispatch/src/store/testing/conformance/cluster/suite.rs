//! All checks for nodes that share a store, for one store.

/// Runs them on the store that an expression opens.
macro_rules! cluster_suite {
    ($open:expr) => {
        $crate::store::testing::conformance::each! { $open;
            the_cluster_view_has_all_members,
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
