//! Documents of the installation.

use crate::testing::fixture::setting;
use crate::{DeliveryStore, DocumentKey, DocumentKind, SettingDocument};

pub(crate) async fn documents_come_back_as_they_were_until_they_are_deleted(
    store: &dyn DeliveryStore,
) {
    let key = setting(DocumentKind::ApiKey, "Z");
    let upper = setting(DocumentKind::EventType, "B");
    let lower = setting(DocumentKind::EventType, "a");
    let mut twin = setting(DocumentKind::ApiKey, "a");
    for document in [&lower, &twin, &upper, &key] {
        store.put_document(document.clone()).await.unwrap();
    }
    let all = [&key, &twin, &upper, &lower].map(Clone::clone);
    assert_eq!(store.documents().await.unwrap(), all);
    twin.text = "{}".into();
    store.put_document(twin.clone()).await.unwrap();
    for _ in 0..2 {
        store.delete_document(lower.key.clone()).await.unwrap();
    }
    assert_eq!(store.documents().await.unwrap(), [key, twin, upper]);
}

pub(crate) async fn a_use_is_noted_only_forward_and_only_of_documents_that_are_there(
    store: &dyn DeliveryStore,
) {
    let document = setting(DocumentKind::ApiKey, "a");
    store.put_document(document.clone()).await.unwrap();
    for (day, known) in [(20_000, 20_000), (19_999, 20_000), (20_001, 20_001)] {
        store.note_document_use(document.key.clone(), day).await.unwrap();
        let noted = SettingDocument { used_on: Some(known), ..document.clone() };
        assert_eq!(store.documents().await.unwrap(), [noted]);
    }
    store.put_document(document.clone()).await.unwrap();
    assert_eq!(store.documents().await.unwrap()[0].used_on, Some(20_001));
    store.delete_document(document.key.clone()).await.unwrap();
    store.note_document_use(document.key, 20_002).await.unwrap();
    let twin = DocumentKey::new(DocumentKind::EventType, "a");
    store.note_document_use(twin, 20_002).await.unwrap();
    assert_eq!(store.documents().await.unwrap(), []);
}
