//! The settings of the operator's page.

use crate::model::KeyHash;

/// Access to the operator's page.
///
/// ```
/// use stagger_dispatch::model::KeyHash;
/// use stagger_dispatch::ui::UiOptions;
/// let options = UiOptions { admin_key: Some(KeyHash::of("a long secret")), ..UiOptions::default() };
/// assert!(!options.secure);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct UiOptions {
    /// The hash of the key to sign in with. With none the page is open, but only under names of this
    /// machine (`localhost`, `127.0.0.1`, `[::1]`), so that no foreign page can reach it through a
    /// browser on the same machine.
    pub admin_key: Option<KeyHash>,
    /// Whether browsers come over TLS, as behind a proxy that ends it: the cookie then never travels
    /// without.
    pub secure: bool,
}
