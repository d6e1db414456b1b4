//! AWS Signature Version 4 for a `POST` to `/`.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use stagger_scheduler::model::AwsIdentity;

/// The scope of a signature besides its day.
#[derive(Clone, Copy, Debug)]
pub(super) struct CredentialScope<'s> {
    pub(super) region: &'s str,
    pub(super) service: &'s str,
}

/// The value of `Authorization`; `headers` are all that are signed, with names in lower case and in alphabetical order, and
/// `time` is that of `x-amz-date`.
pub(super) fn authorization(
    identity: &AwsIdentity,
    scope: CredentialScope<'_>,
    time: &str,
    (headers, body): (&[(&str, &str)], &[u8]),
) -> String {
    let lines: String =
        headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let request = format!("POST\n/\n\n{lines}\n{names}\n{}", digest(body));
    let day = time.get(..8).unwrap_or_default();
    let CredentialScope { region, service } = scope;
    let place = format!("{day}/{region}/{service}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{place}\n{}", digest(request.as_bytes()));
    let key = format!("AWS4{}", identity.secret_access_key.reveal()).into_bytes();
    let key = [day, region, service, "aws4_request"]
        .iter()
        .fold(key, |key, part| sign(&key, part.as_bytes()));
    let signature = hex(&sign(&key, text.as_bytes()));
    let id = &identity.access_key_id;
    format!(
        "AWS4-HMAC-SHA256 Credential={id}/{place}, SignedHeaders={names}, Signature={signature}"
    )
}

fn sign(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use stagger_scheduler::model::SecretText;

    use super::*;

    fn identity() -> AwsIdentity {
        AwsIdentity {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: SecretText::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: None,
        }
    }

    /// `post-vanilla` and `post-header-key-sort` of AWS's test suite for Signature Version 4.
    #[test]
    fn signatures_are_those_of_the_test_suite_of_aws() {
        let scope = CredentialScope { region: "us-east-1", service: "service" };
        let time = "20150830T123600Z";
        for (headers, signature) in [
            (
                &[("host", "example.amazonaws.com"), ("x-amz-date", time)][..],
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
            (
                &[
                    ("host", "example.amazonaws.com"),
                    ("my-header1", "value1"),
                    ("x-amz-date", time),
                ][..],
                "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
            ),
        ] {
            let value = authorization(&identity(), scope, time, (headers, b""));
            let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
            let expected = format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                 SignedHeaders={}, Signature={signature}",
                names.join(";")
            );
            assert_eq!(value, expected);
        }
    }
}
