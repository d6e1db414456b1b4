//! The frame of every page, and the pages of applications.

use askama::Template;
use stagger::Instant;

use super::{Moment, Note};
use crate::access::Role;
use crate::ui::asset::Assets;

/// The parts that all pages share.
#[derive(Debug)]
pub(in crate::ui) struct Frame {
    /// The time at which the page was made.
    pub(in crate::ui) now: Moment,
    /// The entry of the menu to which it belongs.
    pub(in crate::ui) section: Section,
    /// Its own path and query, to be asked for again.
    pub(in crate::ui) here: String,
    /// The result of the last action.
    pub(in crate::ui) note: Option<Note>,
    /// The name of the operator who is signed in; empty if nobody is.
    pub(in crate::ui) operator: String,
    /// The role for which the page is made: what it may not do is not offered.
    pub(in crate::ui) role: Role,
    /// The address of the dispatcher, as examples of calls need it.
    pub(in crate::ui) base: String,
    pub(in crate::ui) assets: &'static Assets,
    pub(in crate::ui) version: &'static str,
}

impl Frame {
    pub(in crate::ui) fn new(
        now: Instant,
        section: Section,
        here: String,
        note: Option<Note>,
        role: Role,
    ) -> Self {
        let (now, assets) = (Moment::new(now, now), Assets::get());
        let (operator, base) = (String::new(), String::new());
        let version = env!("CARGO_PKG_VERSION");
        Self { now, section, here, note, operator, role, base, assets, version }
    }

    /// Whether buttons that steer deliveries are shown.
    pub(in crate::ui) fn may_steer(&self) -> bool {
        self.role >= Role::Operator
    }

    /// Whether forms that change applications and endpoints are shown.
    pub(in crate::ui) fn may_manage(&self) -> bool {
        self.role >= Role::Admin
    }

    /// The entries of the menu.
    pub(in crate::ui) fn menu(&self) -> Vec<(&'static str, &'static str, bool)> {
        let entry = |path, name, section| (path, name, self.section == section);
        let mut menu = vec![
            entry("/", "Overview", Section::Overview),
            entry("/ui/applications", "Applications", Section::Applications),
            entry("/ui/deliveries", "Deliveries", Section::Deliveries),
            entry("/ui/dead", "Dead letters", Section::Dead),
            entry("/ui/audit", "Audit log", Section::Audit),
        ];
        if self.may_manage() {
            menu.push(entry("/ui/operators", "Operators", Section::Operators));
            menu.push(entry("/ui/keys", "API keys", Section::Keys));
        }
        menu
    }
}

/// The entries of the menu, and pages that belong to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum Section {
    Overview,
    Applications,
    Deliveries,
    Dead,
    Audit,
    Operators,
    Keys,
    /// Signing in, errors.
    Outside,
}

/// Asks for a key.
#[derive(Debug, Template)]
#[template(path = "ui/sign_in.html")]
pub(in crate::ui) struct SignInPage {
    pub(in crate::ui) frame: Frame,
    /// The page to show after signing in.
    pub(in crate::ui) next: String,
    /// The path that leads to the identity provider, if there is one.
    pub(in crate::ui) provider: Option<String>,
    /// Why the last key was not taken.
    pub(in crate::ui) error: Option<String>,
}

/// Leads on after signing in at a provider.
#[cfg(feature = "oidc")]
#[derive(Debug, Template)]
#[template(path = "ui/signed_in.html")]
pub(in crate::ui) struct SignedInPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) next: String,
}

/// The error page.
#[derive(Debug, Template)]
#[template(path = "ui/error.html")]
pub(in crate::ui) struct ErrorPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) title: &'static str,
    pub(in crate::ui) detail: String,
}

/// Something that was made, and its secret.
#[derive(Debug, Template)]
#[template(path = "ui/created.html")]
pub(in crate::ui) struct CreatedPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) title: String,
    /// The meaning of the secret.
    pub(in crate::ui) says: &'static str,
    pub(in crate::ui) secret: String,
    /// The page of the thing that was made.
    pub(in crate::ui) next: String,
}

/// The audit log.
#[derive(Debug, Template)]
#[template(path = "ui/audit.html")]
pub(in crate::ui) struct AuditPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) entries: Vec<AuditLine>,
    /// The page after this one.
    pub(in crate::ui) older: Option<String>,
    pub(in crate::ui) is_first: bool,
}

/// The operators.
#[derive(Debug, Template)]
#[template(path = "ui/operators.html")]
pub(in crate::ui) struct OperatorsPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) operators: Vec<OperatorLine>,
}

/// One operator.
#[derive(Clone, Debug)]
pub(in crate::ui) struct OperatorLine {
    pub(in crate::ui) name: String,
    pub(in crate::ui) role: Role,
    /// None since this node began.
    pub(in crate::ui) last_seen: Option<Moment>,
}

/// One change.
#[derive(Clone, Debug)]
pub(in crate::ui) struct AuditLine {
    pub(in crate::ui) at: Moment,
    pub(in crate::ui) actor: String,
    pub(in crate::ui) action: String,
    pub(in crate::ui) detail: String,
}
