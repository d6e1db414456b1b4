//! Signing secrets in JSON.

use serde::{Deserialize, Serialize};
use stagger::{Instant, Span};
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::schema::{SecretText, SpanText, TimestampText};
use crate::Error;
use crate::model::{Secret, SecretKind};

/// The time for which an old secret signs beside a new one by default: a day, so that a receiver
/// can be changed within working hours anywhere.
const DEFAULT_OVERLAP: Span = Span::from_secs(24 * 60 * 60);
/// The longest overlap: a secret that leaked should not sign for longer.
const MAX_OVERLAP: Span = Span::from_secs(30 * 24 * 60 * 60);
/// Most secrets of an endpoint: each adds a signature of 50 to 100 bytes to every attempt.
const MAX_SECRETS: usize = 10;

/// A secret to sign with from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct NewSecret {
    /// Your own secret; generated if left out.
    #[schema(value_type = Option<SecretText>)]
    secret: Option<String>,
    /// The time for which the old secrets still sign, up to `30d`: default `24h`.
    #[schema(value_type = Option<SpanText>)]
    overlap: Option<Span>,
}

impl NewSecret {
    /// All secrets from `now` on, the new one first.
    ///
    /// # Errors
    /// The secret or the overlap is out of its bounds; there are too many secrets.
    pub(in super::super) fn rotate(
        self,
        old: &[Secret],
        now: Instant,
    ) -> Result<Vec<Secret>, Error> {
        let overlap = self.overlap.unwrap_or(DEFAULT_OVERLAP);
        if overlap > MAX_OVERLAP {
            return Err(Error::invalid("overlap", overlap, "from 0s to 30d"));
        }
        let new = parse_or_make(self.secret.as_deref())?;
        let end = now + overlap;
        let still = |old: &&Secret| old.signs_at(now) && old.key != new.key;
        let kept: Vec<Secret> = old
            .iter()
            .filter(still)
            .map(|old| Secret {
                until: Some(old.until.map_or(end, |until| until.min(end))),
                ..old.clone()
            })
            .filter(|old| old.until > Some(now))
            .collect();
        if kept.len() >= MAX_SECRETS {
            return Err(Error::conflict(format!(
                "{MAX_SECRETS} secrets sign already; wait for one to end, or give an overlap of 0s"
            )));
        }
        Ok([vec![new], kept].concat())
    }
}

/// A secret of the owner's own, or a new one.
///
/// # Errors
/// The text is no secret.
pub(super) fn parse_or_make(text: Option<&str>) -> Result<Secret, Error> {
    text.map_or_else(|| Secret::generate(SecretKind::Symmetric), Secret::parse)
}

/// A secret that signs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Secret)]
pub(in super::super) struct SecretView {
    #[schema(value_type = SecretText)]
    secret: String,
    /// The public key with which receivers verify an ed25519 signature; an HMAC is verified with
    /// the secret itself.
    public_key: Option<String>,
    /// The time at which it stops signing, if it was replaced.
    #[schema(value_type = Option<TimestampText>)]
    until: Option<Timestamp>,
}

impl From<&Secret> for SecretView {
    fn from(secret: &Secret) -> Self {
        Self {
            secret: secret.to_text(),
            public_key: secret.public_text(),
            until: secret.until.map(Timestamp),
        }
    }
}

/// All secrets of an endpoint that sign now.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct Secrets {
    /// The newest first.
    pub(in super::super) secrets: Vec<SecretView>,
}
