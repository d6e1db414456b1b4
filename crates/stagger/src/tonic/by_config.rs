//! The default word on which methods may be called twice.

use ::http::Uri;

use crate::tower::Idempotent;

/// The methods that a service config lists may be called twice, and none without one.
///
/// A gRPC method does not say whether it is idempotent, as an HTTP method does. The author of a service
/// config decides it by listing the codes after which a method is called again.
///
/// ```
/// use http::Uri;
/// use stagger::tonic::ByServiceConfig;
/// use stagger::tower::Idempotent;
/// let create = Uri::from_static("/shop.Orders/Create");
/// assert!(!ByServiceConfig.is_idempotent(&create), "no service config lists it");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByServiceConfig;

/// The word of a service config is looked up by the layer that has one.
impl Idempotent<Uri> for ByServiceConfig {
    fn is_idempotent(&self, _: &Uri) -> bool {
        false
    }
}
