//! HTTP Message Signatures (RFC 9421): a request signed with all secrets of an endpoint.

use stagger::hint::structured::{BareItem, Dictionary, InnerList, Item, List, Member};
use stagger::{Instant, Span};

use crate::signature_base::{SignedRequest, components};
use crate::signer::Signer;

/// The application of the signatures (RFC 9421 section 2.3): none of another protocol passes as one of them.
const TAG: &str = "webhook";

/// The two header values of a signed request, with a label for each secret: `sig1`, `sig2`, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSignatures {
    /// `Signature-Input`: what each signature covers, and how it was made.
    pub input: String,
    /// `Signature`.
    pub signature: String,
}

impl Signer {
    /// Signs the components of a request with each secret that is in force at `created` (seconds since the Unix epoch).
    /// `None` if none is, if the request lacks a component, or if a component cannot be named.
    ///
    /// ```
    /// use stagger_sender::{SignedRequest, Signer, parse_secret};
    /// let signer = Signer::new(&[parse_secret("whsec_AQIDBAUGBwgJEBESExQVFg==")?])?;
    /// let url = "https://example.com/hook".parse()?;
    /// let request = SignedRequest { method: "POST", target_uri: &url, headers: &http::HeaderMap::new() };
    /// let signed = signer.sign_request(&request, &["@method", "@path"], 1_700_000_000).expect("a key");
    /// assert!(signed.input.starts_with("sig1=(\"@method\" \"@path\");created=1700000000;keyid="));
    /// assert!(signer.sign_request(&request, &["content-type"], 1_700_000_000).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sign_request(
        &self,
        request: &SignedRequest<'_>,
        covered: &[&str],
        created: u64,
    ) -> Option<MessageSignatures> {
        let now = Instant::ORIGIN + Span::from_secs(created);
        let created = i64::try_from(created).ok()?;
        let (mut inputs, mut signatures) = (Dictionary::default(), Dictionary::default());
        for (at, key) in self.keys_at(now).enumerate() {
            let mut list = components(covered.iter().copied());
            list.parameters.insert("created", BareItem::Integer(created));
            list.parameters.insert("keyid", BareItem::String(key.id().to_owned()));
            list.parameters.insert("alg", BareItem::String(key.algorithm().to_owned()));
            list.parameters.insert("tag", BareItem::String(TAG.to_owned()));
            let base = request.base(covered, &written(&list)?)?;
            let label = format!("sig{}", at + 1);
            inputs.insert(label.clone(), Member::InnerList(list));
            let signature = BareItem::Bytes(key.sign(base.as_bytes()));
            signatures.insert(label, Member::Item(Item::from(signature)));
        }
        if inputs.is_empty() {
            return None;
        }
        let (input, signature) = (inputs.serialize().ok()?, signatures.serialize().ok()?);
        Some(MessageSignatures { input, signature })
    }
}

/// A list of components as `Signature-Input` and the signature base write it.
pub(crate) fn written(list: &InnerList) -> Option<String> {
    List(vec![Member::InnerList(list.clone())]).serialize().ok()
}
