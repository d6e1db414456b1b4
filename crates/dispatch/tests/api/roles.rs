//! Every documented operation, called by every kind of caller.

use std::path::PathBuf;

use stagger_dispatch::access::{OperatorFile, Role};
use stagger_dispatch::api::ApiOptions;

use crate::document::operations;
use crate::server::{ADMIN, Server};

/// A file of operators of one test, which goes with it.
pub(crate) struct Operators {
    folder: PathBuf,
    pub(crate) file: OperatorFile,
}

impl Operators {
    pub(crate) fn new(test: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("stagger-roles-{test}-{}", std::process::id()));
        let file = OperatorFile::open(&folder.join("operators.toml")).expect("none yet");
        Self { folder, file }
    }

    pub(crate) async fn serve(&self) -> Server {
        Server::with(ApiOptions { operators: self.file.clone(), ..ApiOptions::default() }).await
    }
}

impl Drop for Operators {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// The least role for an operation: reading is for viewers, except for secrets; steering is for operators.
fn needed(method: &str, path: &str) -> Role {
    let steering =
        ["cancel", "disable", "enable", "filter-test", "replay", "replay-missing", "retry", "test"];
    let last = path.rsplit('/').next().unwrap_or_default();
    match method {
        "GET" if !["api-keys", "operators", "secrets"].contains(&last) => Role::Viewer,
        "POST" if steering.contains(&last) => Role::Operator,
        _ => Role::Admin,
    }
}

#[tokio::test]
async fn a_role_could_do_more_or_less_than_it_may() {
    let operators = Operators::new("table");
    let callers = Role::ALL
        .map(|role| (role, operators.file.add(&format!("the-{role}"), role).expect("new")));
    let server = operators.serve().await;
    let tenant = server.tenant("shop").await;
    let nothing = "0".repeat(32);
    let mut refusals = 0;
    for (method, path, operation) in operations() {
        if operation["responses"]["401"].is_null() {
            continue;
        }
        // Things that are not there: whoever may ask for them is told so, and nothing changes.
        let path = path
            .replace("{app}", &format!("app_{nothing}"))
            .replace("{ep}", &format!("ep_{nothing}"))
            .replace("{msg}", &format!("msg_{nothing}"))
            .replace("{key}", &format!("key_{nothing}"))
            .replace("{name}", "none");
        let body = if operation["requestBody"].is_null() { "" } else { "[]" };
        for (role, key) in &callers {
            let reply = server.call(&method, &path, key, body).await;
            let may = *role >= needed(&method, &path);
            assert_eq!(reply.status != 403, may, "{method} {path} by {role}: {reply:?}");
            assert_ne!(reply.status, 401, "{method} {path} by {role}");
            refusals += u32::from(!may);
        }
        let admin = server.call(&method, &path, ADMIN, body).await;
        assert!(admin.status != 403 && admin.status != 401, "{method} {path}: {admin:?}");
        let operators_only = !operation["security"].is_null();
        let own = server.call(&method, &path, &tenant.key, body).await;
        assert_eq!(own.status == 403, operators_only, "{method} {path}: {own:?}");
        server.call(&method, &path, "op_unknown", body).await.refused(401);
    }
    assert!(refusals > 30, "{refusals}");
}

#[tokio::test]
async fn a_refusal_did_not_say_which_role_is_needed() {
    let operators = Operators::new("words");
    let key = operators.file.add("alice", Role::Viewer).expect("new");
    let server = operators.serve().await;
    let tenant = server.tenant("shop").await;
    let endpoint = server.endpoint(&tenant).await;
    let told = server.call("POST", &format!("{endpoint}/disable"), &key, "").await.refused(403);
    assert_eq!(told.text("detail"), "the role viewer may not do this; it takes the role operator");
    assert_eq!(told.header("cache-control"), "no-store");
    let shown = server.get(&endpoint, &key).await.expect(200);
    assert!(!shown.json()["url"].is_null() && shown.json()["secret"].is_null(), "{shown:?}");
}

#[tokio::test]
async fn the_audit_log_names_the_operator_until_the_key_is_removed() {
    let operators = Operators::new("audit");
    let key = operators.file.add("alice", Role::Operator).expect("new");
    let server = operators.serve().await;
    let tenant = server.tenant("shop").await;
    let endpoint = server.endpoint(&tenant).await;
    server.call("POST", &format!("{endpoint}/disable"), &key, "").await.expect(204);
    let log = server.get("/v1/audit", &key).await.expect(200).json();
    assert_eq!(log["items"][0]["actor"], "alice");
    assert_eq!(log["items"][0]["action"], format!("POST {endpoint}/disable"));
    operators.file.remove("alice").expect("there");
    server.get("/v1/audit", &key).await.refused(401);
    server.call("POST", &format!("{endpoint}/enable"), &key, "").await.refused(401);
}

#[tokio::test]
async fn the_operators_are_listed_for_admins() {
    let operators = Operators::new("listed");
    let key = operators.file.add("alice", Role::Operator).expect("new");
    operators.file.add("bob", Role::Viewer).expect("new");
    let server = operators.serve().await;
    server.get("/v1/operators", &key).await.refused(403);
    let list = server.get("/v1/operators", ADMIN).await.expect(200).json();
    let named = |at: usize, name: &str| list["items"][at][name].clone();
    assert_eq!((named(0, "name"), named(0, "role")), ("alice".into(), "operator".into()));
    assert!(named(0, "last_seen").is_string(), "{list}");
    assert_eq!((named(1, "name"), named(1, "role")), ("bob".into(), "viewer".into()));
    assert!(named(1, "last_seen").is_null(), "{list}");
    assert!(!list.to_string().contains("sha256"), "{list}");
}
