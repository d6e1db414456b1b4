//! All checks for nodes that share a store, for one store.

/// Runs them on the store that an expression opens.
macro_rules! cluster_suite {
    ($open:expr) => {
        $crate::store::conformance::each! { $open;
            members_are_called_in_the_roll,
            beats_are_counted_and_say_who_is_leaving,
            a_member_that_has_beaten_is_not_evicted,
            who_is_evicted_leads_and_writes_nothing,
            who_leaves_leads_and_writes_nothing,
            all_members_settle,
            a_run_has_the_store_alone,
            hints_are_told_to_all_members,
            no_shard_is_led_twice,
            takes_at_once_share_what_is_free,
            no_more_shards_are_taken_than_wanted,
            shards_given_up_are_free,
            each_end_of_the_shards_is_led,
            what_is_open_is_loaded_oldest_first,
            a_long_backlog_is_loaded_whole,
            loading_covers_what_has_arrived,
            what_others_lead_arrives,
            a_node_that_leads_nothing_takes_messages,
            messages_of_a_store_all_arrive,
            a_repeated_message_arrives_once,
            a_large_payload_does_not_arrive,
            settings_that_were_not_followed_are_outdated,
            an_application_that_is_gone_takes_no_messages,
            accepts_at_once_arrive_once_each,
            arrivals_are_answered_until_they_are_done,
            arrivals_show_deliveries_as_they_are,
            what_is_gone_does_not_arrive,
            replays_arrive,
            operational_messages_arrive,
            news_say_how_settings_are_now,
            news_say_what_was_deleted,
            an_application_is_told_of_before_its_endpoints,
            what_is_learned_is_no_news,
            old_news_are_told_whole_or_not_at_all,
            orders_are_there_until_they_are_carried_out,
            nobody_is_ordered_about_what_is_gone,
            a_standing_is_as_it_was_settled,
            the_roll_counts_what_is_open,
        }
    };
}

pub(crate) use cluster_suite;
