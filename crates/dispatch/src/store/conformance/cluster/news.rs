//! Settings change, and every node follows.

use super::scene::Scene;
use crate::model::Standing;
use crate::store::SettingChange::{Application, Endpoint};
use crate::store::fixture::{app, application, at, endpoint, ep};
use crate::store::{News, Settlement, Store};

pub(crate) async fn news_say_how_settings_are_now(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let begin = scene.news().await;
    let mut renamed = application(1);
    renamed.name = "renamed".into();
    store.put_application(renamed.clone()).await.unwrap();
    store.put_endpoint(endpoint(4, 1)).await.unwrap();
    let mut moved = endpoint(1, 1);
    moved.url = "https://example.com/elsewhere".into();
    store.put_endpoint(endpoint(1, 1)).await.unwrap();
    store.put_endpoint(moved.clone()).await.unwrap();
    let standing = Standing { failing_since: Some(at(3)), ..Standing::default() };
    let learned = Settlement { standing: Some((ep(1), standing)), ..Settlement::default() };
    store.settle(scene.ann, vec![learned]).await.unwrap();
    let news = scene.cluster.news(begin).await.unwrap();
    assert!(news.to > begin);
    let changes = news.changes.expect("nobody has followed them");
    assert_eq!(changes.len(), 3);
    assert_eq!(changes[0], Application(app(1), Some(renamed)));
    assert!(changes.contains(&Endpoint(ep(4), Some((endpoint(4, 1), Standing::default())))));
    assert!(changes.contains(&Endpoint(ep(1), Some((moved, standing)))));
    let none = News { to: news.to, changes: Some(Vec::new()) };
    assert_eq!(scene.cluster.news(news.to).await.unwrap(), none);
    // Whoever has seen more has seen another store.
    assert_eq!(scene.cluster.news(news.to + 1).await.unwrap().changes, None);
    assert_eq!(scene.roll().await.news, news.to);
}

pub(crate) async fn news_say_what_was_deleted(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let begin = scene.news().await;
    store.delete_endpoint(ep(2), at(20)).await.unwrap();
    let between = scene.cluster.news(begin).await.unwrap();
    assert_eq!(between.changes, Some(vec![Endpoint(ep(2), None)]));
    store.delete_application(app(2)).await.unwrap();
    let news = scene.cluster.news(between.to).await.unwrap();
    let mut changes = news.changes.expect("nobody has followed them");
    // Its endpoints may be named too.
    changes.retain(|change| *change != Endpoint(ep(3), None));
    assert_eq!(changes, [Application(app(2), None)]);
    assert!(news.to > between.to);
}

pub(crate) async fn an_application_is_told_of_before_its_endpoints(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let begin = scene.news().await;
    store.put_application(application(3)).await.unwrap();
    store.put_endpoint(endpoint(5, 3)).await.unwrap();
    store.put_endpoint(endpoint(4, 3)).await.unwrap();
    store.put_application(application(3)).await.unwrap();
    let changes = scene.cluster.news(begin).await.unwrap().changes.unwrap();
    assert_eq!(changes[0], Application(app(3), Some(application(3))));
    assert_eq!(changes.len(), 3);
}

pub(crate) async fn what_is_learned_is_no_news(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let begin = scene.news().await;
    let standing = Standing { paused_until: Some(at(3)), ..Standing::default() };
    let learned = Settlement { standing: Some((ep(1), standing)), ..Settlement::default() };
    store.settle(scene.ann, vec![learned]).await.unwrap();
    assert_eq!(scene.news().await, begin);
}

pub(crate) async fn old_news_are_told_whole_or_not_at_all(store: &dyn Store) {
    let scene = Scene::of(store).await;
    let begin = scene.news().await;
    for n in 1..=20 {
        store.put_endpoint(endpoint(n, 1)).await.unwrap();
        let followed = scene.news().await;
        let news = scene.cluster.news(begin).await.unwrap();
        assert_eq!(news.to, followed);
        assert!(news.changes.is_none_or(|changes| changes.len() as u64 == n));
        let none = News { to: followed, changes: Some(Vec::new()) };
        assert_eq!(scene.cluster.news(followed).await.unwrap(), none);
    }
    // Whoever is one behind is told of that one.
    store.put_application(application(3)).await.unwrap();
    let news = scene.cluster.news(scene.news().await - 1).await.unwrap();
    assert_eq!(news.changes, Some(vec![Application(app(3), Some(application(3)))]));
}
