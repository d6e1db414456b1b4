//! The suite as a macro, and the short forms of answers.

use stagger_scheduler::model::{Delivery, DeliveryState, EndpointId, Message, MessageId};

use crate::testing::fixture::{app, ep, msg, page};
use crate::{DeliveryFilter, DeliveryStore, MessageFilter};

/// Runs all checks on the store that an expression opens.
macro_rules! suite {
    ($open:expr) => {
        $crate::testing::conformance::each! { $open;
            applications_come_back_as_they_were,
            endpoints_come_back_as_they_were_and_keep_their_standing,
            accepted_messages_are_stored,
            a_message_keeps_the_trace_of_its_producer,
            a_message_keeps_its_attributes_as_an_event,
            a_repeated_key_answers_the_first_id,
            equal_keys_within_one_batch_are_one_message,
            keys_of_two_applications_are_apart,
            an_id_that_is_there_is_not_stored_again,
            a_repeated_key_hides_no_other_message_of_its_id,
            accepts_of_one_key_at_once_store_one,
            a_settlement_is_written_whole,
            a_stale_run_changes_nothing,
            a_finished_delivery_stays_finished,
            a_late_settlement_does_not_undo_a_replay,
            settlements_of_what_is_gone_are_left_out,
            attempts_come_back_in_order_as_they_were,
            open_deliveries_are_paged_in_order,
            messages_are_paged_newest_first,
            messages_are_filtered,
            deliveries_are_paged_newest_first,
            deliveries_are_filtered,
            deliveries_are_filtered_by_type_and_last_status,
            open_deliveries_of_one_state_are_found_among_many_others,
            a_deleted_endpoint_cancels_what_is_open_and_what_comes_later,
            a_deleted_application_leaves_nothing_and_gets_nothing,
            one_delivery_is_replayed_unless_it_is_open,
            replays_of_many_take_the_dead_oldest_first,
            replays_of_many_follow_their_filter,
            replays_of_many_come_to_an_end,
            an_endpoint_gets_the_messages_that_it_has_missed,
            waiting_deliveries_become_due_and_stay_as_they_are,
            retries_of_many_follow_their_filter_and_come_to_an_end,
            pruning_takes_finished_messages_oldest_first,
            pruning_looks_again_at_what_has_finished_since,
            pruned_keys_can_be_used_again,
            pruning_of_one_application_leaves_the_others,
            a_finished_message_is_deleted_with_all_of_it,
            a_payload_is_deleted_with_the_replies_and_nothing_else,
            counts_follow_every_change,
            the_audit_log_has_the_newest_entries_first,
            documents_come_back_as_they_were_until_they_are_deleted,
            a_use_is_noted_only_forward_and_only_of_documents_that_are_there,
            an_open_store_can_write,
        }
    };
}

macro_rules! each {
    ($open:expr; $($check:ident,)*) => {$(
        #[tokio::test]
        async fn $check() {
            let store = $open;
            $crate::testing::conformance::$check(&*store).await;
        }
    )*};
}

pub(crate) use {each, suite};

pub(super) async fn counted(store: &dyn DeliveryStore, endpoint: Option<EndpointId>) -> [u64; 5] {
    let counts = store.counts(endpoint).await.unwrap();
    DeliveryState::ALL.map(|state| counts.of(state))
}

/// All messages of application 1 that pass, by pages of 2.
pub(super) async fn all_messages(
    store: &dyn DeliveryStore,
    filter: MessageFilter,
) -> Vec<MessageId> {
    let (mut found, mut next) = (Vec::new(), page(2));
    loop {
        let page = store.messages(app(1), filter.clone(), next).await.unwrap();
        found.extend(ids(&page.items));
        next.after = page.next;
        if next.after.is_none() {
            return found;
        }
    }
}

/// All deliveries that pass, by pages of 2.
pub(super) async fn all_deliveries(
    store: &dyn DeliveryStore,
    of: Option<u64>,
    filter: DeliveryFilter,
) -> Vec<(MessageId, EndpointId)> {
    let (mut found, mut next) = (Vec::new(), page(2));
    loop {
        let page = store.deliveries(of.map(app), filter.clone(), next).await.unwrap();
        found.extend(names(&page.items));
        next.after = page.next;
        if next.after.is_none() {
            return found;
        }
    }
}

pub(super) fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}

pub(super) fn names(deliveries: &[Delivery]) -> Vec<(MessageId, EndpointId)> {
    deliveries.iter().map(|delivery| (delivery.message, delivery.endpoint)).collect()
}

pub(super) fn to_first(messages: &[u64]) -> Vec<(MessageId, EndpointId)> {
    messages.iter().map(|n| (msg(*n), ep(1))).collect()
}
