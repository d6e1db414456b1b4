//! Everything of one store into another, of whatever kind: nothing is lost, and it is shown.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use stagger_scheduler::model::{
    Application, Delivery, DeliveryAttempt, DeliveryState, Endpoint, EndpointState, Message,
    NewMessage,
};

use super::place::{Opened, StorePlace};
use super::{
    DeliveryCounts, DeliveryStore, EncryptionKeys, MessageFilter, PageRequest, SettingDocument,
    Settlement, document,
};
use crate::Error;

/// Messages that are read and written together: some megabytes at most.
const PAGE: usize = 100;

/// The number of rows that were copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Applications.
    pub applications: u64,
    /// Endpoints.
    pub endpoints: u64,
    /// Messages, each with its payload.
    pub messages: u64,
    /// Attempts.
    pub attempts: u64,
    /// Deliveries by state.
    pub deliveries: DeliveryCounts,
    /// The SHA-256 of all of it.
    pub checksum: [u8; 32],
}

/// Copies a store into an empty one, then reads both and compares them. `tell` is called with the
/// number of messages copied so far.
///
/// No dispatcher may use either. An interrupted copy is marked as such, and cannot be opened.
///
/// # Errors
/// A store cannot be opened; the target is not empty; they differ in the end.
pub async fn copy(
    from: &StorePlace,
    to: &StorePlace,
    tell: impl FnMut(u64) + Send,
) -> Result<Copied, Error> {
    copy_with_keys(from, to, &EncryptionKeys::default(), tell).await
}

/// The same, with the keys of the secrets in both: the copy is encrypted with the key that writes.
///
/// # Errors
/// As of [`copy`]; a key is missing.
pub async fn copy_with_keys(
    from: &StorePlace,
    to: &StorePlace,
    keys: &EncryptionKeys,
    mut tell: impl FnMut(u64) + Send,
) -> Result<Copied, Error> {
    if from == to {
        return Err(Error::conflict("a store cannot be copied into itself"));
    }
    let (source, target) = (from.open(keys).await?, to.make(keys).await?);
    if !is_empty(target.store()).await? {
        return Err(Error::conflict(format!("{to} is not empty")));
    }
    target.mark_copy(true).await?;
    // A dispatcher that still uses the source stops when it next settles.
    source.store().begin_run().await?;
    let copied = transfer(&source, &target, &mut tell).await?;
    let read = take_stock(target.store()).await?;
    if copied != read {
        return Err(Error::store(format!(
            "the copy differs from its source: {copied:?} became {read:?}"
        )));
    }
    if take_stock(source.store()).await? != copied {
        return Err(Error::conflict(format!(
            "{from} changed during the copy: a dispatcher is using it"
        )));
    }
    target.mark_copy(false).await?;
    Ok(copied)
}

async fn is_empty(store: &dyn DeliveryStore) -> Result<bool, Error> {
    let counts = store.counts(None).await?;
    Ok(store.applications().await?.is_empty()
        && store.documents().await?.is_empty()
        && store.endpoints().await?.is_empty()
        && DeliveryState::ALL.iter().all(|state| counts.of(*state) == 0))
}

async fn transfer(
    source: &Opened,
    target: &Opened,
    tell: &mut (dyn FnMut(u64) + Send),
) -> Result<Copied, Error> {
    let (from, to) = (source.store(), target.store());
    let fence = to.begin_run().await?;
    let mut stock = CopyTotals::default();
    let applications = from.applications().await?;
    for application in &applications {
        stock.application(application)?;
        to.put_application(application.clone()).await?;
    }
    for (endpoint, endpoint_state) in from.endpoints().await? {
        stock.endpoint(&endpoint, &endpoint_state)?;
        let endpoint_state = Some((endpoint.id, endpoint_state));
        to.put_endpoint(endpoint).await?;
        to.settle(fence, vec![Settlement { endpoint_state, ..Settlement::default() }]).await?;
    }
    for document in from.documents().await? {
        stock.document(&document);
        let (key, used_on) = (document.key.clone(), document.used_on);
        to.put_document(document).await?;
        if let Some(day) = used_on {
            to.note_document_use(key, day).await?;
        }
    }
    for application in &applications {
        let mut pages = MessagePages::of(from, application);
        while let Some(page) = pages.next().await? {
            page.iter().for_each(|bundle| stock.bundle(bundle));
            let ids: Vec<_> = page.iter().map(|bundle| bundle.message.id).collect();
            let bare = page.iter().filter(|bundle| bundle.payload.is_none());
            let bare: Vec<_> = bare.map(|bundle| bundle.message.id).collect();
            target.make_room(&ids).await?;
            to.accept(page.iter().map(CopiedMessage::as_new).collect()).await?;
            to.settle(fence, page.into_iter().flat_map(CopiedMessage::into_settlements).collect())
                .await?;
            for id in bare {
                // One that is open again is cancelled at its next attempt, because it has nothing to send.
                let deleted = to.delete_payload(id).await;
                deleted.map(drop).or_else(|e| if e.is_conflict() { Ok(()) } else { Err(e) })?;
            }
            tell(stock.copied.messages);
        }
    }
    Ok(stock.end())
}

/// Counts and sums up all that is in a store.
async fn take_stock(store: &dyn DeliveryStore) -> Result<Copied, Error> {
    let mut stock = CopyTotals::default();
    let applications = store.applications().await?;
    applications.iter().try_for_each(|application| stock.application(application))?;
    for (endpoint, endpoint_state) in store.endpoints().await? {
        stock.endpoint(&endpoint, &endpoint_state)?;
    }
    store.documents().await?.iter().for_each(|document| stock.document(document));
    for application in &applications {
        let mut pages = MessagePages::of(store, application);
        while let Some(page) = pages.next().await? {
            page.iter().for_each(|bundle| stock.bundle(bundle));
        }
    }
    Ok(stock.end())
}

/// A message with all that belongs to it.
struct CopiedMessage {
    message: Message,
    /// None if it was deleted.
    payload: Option<Bytes>,
    deliveries: Vec<(Delivery, Vec<DeliveryAttempt>)>,
}

impl CopiedMessage {
    async fn read(store: &dyn DeliveryStore, message: Message) -> Result<Self, Error> {
        let payload = store.payload(message.id).await?;
        let mut deliveries = Vec::new();
        for delivery in store.deliveries_of(message.id).await? {
            // A delivery without attempts needs no query.
            let attempts = match delivery.attempts {
                0 => Vec::new(),
                _ => store.attempts(delivery.message, delivery.endpoint).await?,
            };
            deliveries.push((delivery, attempts));
        }
        Ok(Self { message, payload, deliveries })
    }

    fn as_new(&self) -> NewMessage {
        let endpoints = self.deliveries.iter().map(|(delivery, _)| delivery.endpoint).collect();
        let payload = self.payload.clone().unwrap_or_default();
        NewMessage { message: self.message.clone(), payload, endpoints }
    }

    /// The settlements that restore the state of the deliveries once the message is accepted.
    /// Deliveries without attempts need none.
    fn into_settlements(self) -> impl Iterator<Item = Settlement> {
        let accepted_at = self.message.created_at;
        self.deliveries.into_iter().flat_map(move |(delivery, attempts)| {
            let Delivery { message, endpoint, application, .. } = delivery;
            let new = Delivery::new(message, endpoint, application, accepted_at);
            let moved = (delivery != new).then_some(delivery);
            let moved = moved.map(|it| Settlement { delivery: Some(it), ..Settlement::default() });
            let attempt = |it| Settlement { attempt: Some(it), ..Settlement::default() };
            moved.into_iter().chain(attempts.into_iter().map(attempt))
        })
    }
}

/// An application's messages, newest first, some at a time.
struct MessagePages<'s> {
    store: &'s dyn DeliveryStore,
    application: &'s Application,
    next: Option<PageRequest>,
}

impl<'s> MessagePages<'s> {
    const fn of(store: &'s dyn DeliveryStore, application: &'s Application) -> Self {
        Self { store, application, next: Some(PageRequest { after: None, limit: PAGE }) }
    }

    async fn next(&mut self) -> Result<Option<Vec<CopiedMessage>>, Error> {
        let Some(request) = self.next else { return Ok(None) };
        let filter = MessageFilter::default();
        let page = self.store.messages(self.application.id, filter, request).await?;
        self.next = page.next.map(|after| PageRequest { after: Some(after), limit: PAGE });
        let mut bundles = Vec::with_capacity(page.items.len());
        for message in page.items {
            bundles.push(CopiedMessage::read(self.store, message).await?);
        }
        Ok(Some(bundles))
    }
}

/// Counts, and the sum over everything in the order in which it is read.
#[derive(Default)]
struct CopyTotals {
    copied: Copied,
    sum: Sha256,
}

impl CopyTotals {
    fn application(&mut self, application: &Application) -> Result<(), Error> {
        self.copied.applications += 1;
        self.text(&application.id.to_string());
        self.text(
            &document::of_application(application, &EncryptionKeys::default())
                .map_err(unwritable)?,
        );
        Ok(())
    }

    fn endpoint(
        &mut self,
        endpoint: &Endpoint,
        endpoint_state: &EndpointState,
    ) -> Result<(), Error> {
        self.copied.endpoints += 1;
        self.text(&format!("{} of {}", endpoint.id, endpoint.application));
        self.text(
            &document::of_endpoint(endpoint, &EncryptionKeys::default()).map_err(unwritable)?,
        );
        self.text(&document::of_endpoint_state(endpoint_state).map_err(unwritable)?);
        Ok(())
    }

    fn document(&mut self, document: &SettingDocument) {
        self.text(&format!("{}: {} {:?}", document.key, document.text, document.used_on));
    }

    fn bundle(&mut self, bundle: &CopiedMessage) {
        self.copied.messages += 1;
        self.text(&format!("{:?}", bundle.message));
        self.bytes(bundle.payload.as_deref().unwrap_or_default());
        for (delivery, attempts) in &bundle.deliveries {
            let state = delivery.state;
            self.copied.deliveries.set(state, self.copied.deliveries.of(state) + 1);
            self.copied.attempts += attempts.len() as u64;
            self.text(&format!("{delivery:?} {attempts:?}"));
        }
    }

    fn end(mut self) -> Copied {
        self.copied.checksum = self.sum.finalize().into();
        self.copied
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// With its length, so that no two parts run into each other.
    fn bytes(&mut self, bytes: &[u8]) {
        self.sum.update((bytes.len() as u64).to_le_bytes());
        self.sum.update(bytes);
    }
}

fn unwritable(error: super::encoding::Unreadable) -> Error {
    Error::store(error.to_string())
}

#[cfg(test)]
mod tests {
    use stagger::Verdict;
    use stagger_scheduler::model::{Secret, SecretKind};

    use super::*;
    use crate::postgres::test_schema::TestSchema;
    use crate::sqlite::test_folder::TestFolder;
    use crate::testing::fixture::{
        at, attempt, delivery, endpoint, ep, furnish, keyed, message, msg, setting, settled,
    };
    use crate::{DeliveryFilter, DocumentKind, Fence, ReplayRequest};

    /// Deliveries in every state, attempts, keys, secrets, an endpoint state, a deleted endpoint, a deleted payload,
    /// and more messages than a page has.
    async fn fill(store: &dyn DeliveryStore) {
        let fence = furnish(store).await;
        let mut changed = endpoint(2, 1);
        changed.secrets.push(Secret { kind: SecretKind::Symmetric, key: vec![1; 16], until: None });
        store.put_endpoint(changed).await.unwrap();
        let batch = |from, to| (from..to).map(|n| message(n, 1, &[1, 2])).collect::<Vec<_>>();
        store.accept(batch(1, 180)).await.unwrap();
        store.accept(vec![keyed(200, 1, &[1], "order 7"), keyed(201, 2, &[3], "x")]).await.unwrap();
        for (n, state) in (1..).zip(DeliveryState::ALL) {
            let settlement = Settlement {
                delivery: Some(delivery(n, 1, 1, state, 300)),
                attempt: Some(attempt(n, 1, 1, Verdict::Transient)),
                endpoint_state: Some((
                    ep(1),
                    EndpointState { paused_until: Some(at(9)), ..EndpointState::default() },
                )),
                operational: Vec::new(),
            };
            store.settle(fence, vec![settlement]).await.unwrap();
        }
        store.settle(fence, vec![settled(9, 1, 1, DeliveryState::Dead, 300)]).await.unwrap();
        store.replay(ReplayRequest::One(msg(9), ep(1)), at(400), 1).await.unwrap();
        store.delete_endpoint(ep(3), at(500)).await.unwrap();
        assert!(store.delete_payload(msg(201)).await.unwrap());
        for document in [setting(DocumentKind::ApiKey, "a"), setting(DocumentKind::EventType, "b")]
        {
            store.put_document(document.clone()).await.unwrap();
            store.note_document_use(document.key, 20_000).await.unwrap();
        }
    }

    async fn assert_moved(from: &StorePlace, to: &StorePlace) -> Copied {
        let copied = copy(from, to, |_| {}).await.unwrap();
        assert_eq!((copied.messages, copied.attempts, copied.endpoints), (181, 5, 2));
        for state in DeliveryState::ALL {
            assert!(copied.deliveries.of(state) > 0, "{state:?}");
        }
        let opened = to.open(&EncryptionKeys::default()).await.unwrap();
        let store = opened.store();
        let again = store.accept(vec![keyed(300, 1, &[1], "order 7")]).await.unwrap();
        assert_eq!((again[0].id, again[0].repeated), (msg(200), true));
        let dead = DeliveryFilter { state: Some(DeliveryState::Dead), ..DeliveryFilter::default() };
        let page = PageRequest { after: None, limit: 9 };
        assert_eq!(store.deliveries(None, dead, page).await.unwrap().items.len(), 1);
        assert!(store.settle(Fence(0), Vec::new()).await.is_err());
        assert!(store.message(msg(201)).await.unwrap().is_some());
        assert_eq!(store.payload(msg(201)).await.unwrap(), None);
        let documents = store.documents().await.unwrap();
        assert!(documents.len() == 2 && documents.iter().all(|it| it.used_on == Some(20_000)));
        copied
    }

    #[tokio::test]
    async fn everything_moves_to_postgres_and_back() {
        let Some(schema) = TestSchema::new().await else { return };
        let (first, second) = (TestFolder::new(), TestFolder::new());
        let place = |folder: &TestFolder| StorePlace::Folder(folder.to_path_buf());
        let database = StorePlace::Database(Box::new(schema.address()));
        {
            let store = first.open();
            fill(&store).await;
        }
        let there = assert_moved(&place(&first), &database).await;
        let back = assert_moved(&database, &place(&second)).await;
        assert_eq!(there, back);
        database.check().await.unwrap();
        place(&second).check().await.unwrap();
        let refused = copy(&place(&first), &database, |_| {}).await.unwrap_err();
        assert!(refused.is_conflict() && refused.to_string().contains("not empty"), "{refused}");
    }

    #[tokio::test]
    async fn half_a_copy_is_not_opened_whatever_the_store() {
        let folder = TestFolder::new();
        folder.open().mark_copy(true).await.unwrap();
        let place = StorePlace::Folder(folder.to_path_buf());
        assert!(
            place
                .open(&EncryptionKeys::default())
                .await
                .unwrap_err()
                .to_string()
                .contains("interrupted")
        );
    }

    #[tokio::test]
    async fn without_a_store_there_is_nothing_to_copy() {
        let (from, to) = (TestFolder::new(), TestFolder::new());
        let place = |folder: &TestFolder| StorePlace::Folder(folder.to_path_buf());
        let refused = copy(&place(&from), &place(&to), |_| {}).await.unwrap_err();
        assert!(refused.to_string().contains("contains no store"), "{refused}");
        assert!(!from.exists() && !to.exists());
    }
}
