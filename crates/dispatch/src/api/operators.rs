//! The operators, as the file has them: read by admins, and changed by `stagger operator` alone.

use axum::extract::State;
use serde::Serialize;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::auth::ByOperator;
use super::problem::Problem;
use super::state::Api;
use super::wire::TimestampText;
use crate::access::SeenOperator;

/// A person with a key of their own.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operator)]
pub(super) struct OperatorView {
    /// The name, which is that in the audit log.
    name: String,
    /// The permissions.
    role: RoleText,
    /// The time of the last use of the key at this node, since it began.
    #[schema(value_type = Option<TimestampText>)]
    last_seen: Option<Timestamp>,
}

/// The name of a role.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Role)]
enum RoleText {
    /// Sees everything but secrets.
    Viewer,
    /// Steers deliveries too.
    Operator,
    /// May do everything.
    Admin,
}

impl From<SeenOperator> for OperatorView {
    fn from(SeenOperator { name, role, last_seen }: SeenOperator) -> Self {
        use crate::access::Role;
        let role = match role {
            Role::Viewer => RoleText::Viewer,
            Role::Operator => RoleText::Operator,
            Role::Admin => RoleText::Admin,
        };
        Self { name, role, last_seen: last_seen.map(Timestamp) }
    }
}

/// All operators.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OperatorList {
    /// In the order of the file.
    items: Vec<OperatorView>,
}

/// The operators of the file, without the holder of the admin key and people whom an identity provider knows.
#[utoipa::path(
    get, path = "/v1/operators", tag = "operators", security(("admin" = [])),
    responses((status = 200, description = "All of them.", body = OperatorList)),
)]
pub(super) async fn list_operators(
    State(api): State<Api>,
    _: ByOperator,
) -> Result<axum::Json<OperatorList>, Problem> {
    let items = api.staff().operators().into_iter().map(OperatorView::from).collect();
    Ok(axum::Json(OperatorList { items }))
}
