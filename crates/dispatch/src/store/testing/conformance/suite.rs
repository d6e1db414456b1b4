//! All checks, for one store.

/// Runs all checks on the store that an expression opens.
macro_rules! suite {
    ($open:expr) => {
        $crate::store::testing::conformance::each! { $open;
            applications_come_back_as_they_were,
            endpoints_come_back_as_they_were_and_keep_their_standing,
            accepted_messages_are_stored,
            a_repeated_key_answers_the_first_id,
            equal_keys_within_one_batch_are_one_message,
            keys_of_two_applications_are_apart,
            an_id_that_is_there_is_not_stored_again,
            a_repeated_key_hides_no_other_message_of_its_id,
            accepts_of_one_key_at_once_store_one,
            a_settlement_is_written_whole,
            a_stale_run_changes_nothing,
            a_finished_delivery_stays_finished,
            settlements_of_what_is_gone_are_left_out,
            attempts_come_back_in_order_as_they_were,
            open_deliveries_are_paged_in_order,
            messages_are_paged_newest_first,
            messages_are_filtered,
            deliveries_are_paged_newest_first,
            deliveries_are_filtered,
            a_deleted_endpoint_cancels_what_is_open_and_what_comes_later,
            a_deleted_application_leaves_nothing_and_gets_nothing,
            one_delivery_is_replayed_unless_it_is_open,
            replays_of_many_take_the_dead_oldest_first,
            replays_of_many_follow_their_filter,
            replays_of_many_come_to_an_end,
            pruning_takes_finished_messages_oldest_first,
            pruning_looks_again_at_what_has_finished_since,
            pruned_keys_can_be_used_again,
            counts_follow_every_change,
            an_open_store_can_write,
        }
    };
}

macro_rules! each {
    ($open:expr; $($check:ident,)*) => {$(
        #[tokio::test]
        async fn $check() {
            let store = $open;
            $crate::store::testing::conformance::$check(&*store).await;
        }
    )*};
}

pub(crate) use {each, suite};
