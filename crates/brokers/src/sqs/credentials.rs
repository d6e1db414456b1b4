//! Access keys of AWS: given once, or in a file that is read again when it changes.

use std::path::PathBuf;

use stagger::ConfigError;
use stagger_scheduler::model::{AttemptFailure, AwsIdentity, EndpointAuth, SecretText};
use stagger_sender::SendFailure;

/// Longest file, in bytes: some profiles.
const MAX_FILE: usize = 64 << 10;

/// The access key that signs requests.
#[derive(Clone, Debug)]
pub enum AwsCredentials {
    /// A key.
    Given(AwsIdentity),
    /// A file as the programs of AWS write it, of which the profile `default` is read before each request: whoever replaces
    /// the file replaces the key.
    File(PathBuf),
}

impl AwsCredentials {
    /// Those of an endpoint.
    ///
    /// # Errors
    /// `auth` or a part of it; secrets are not repeated.
    pub(super) fn of_endpoint(auth: Option<&EndpointAuth>) -> Result<Self, ConfigError> {
        let Some(EndpointAuth::Aws(identity)) = auth else {
            let given = auth.map_or("(none)", EndpointAuth::kind);
            return Err(ConfigError::new("auth", given, "of the type aws for a queue of SQS"));
        };
        let fits = |text: &str, most: usize| {
            !text.is_empty() && text.len() <= most && text.bytes().all(|it| it.is_ascii_graphic())
        };
        let AwsIdentity { access_key_id, secret_access_key, session_token } = identity;
        let wrong = |field, bound| ConfigError::new(field, "(not shown)", bound);
        if !fits(access_key_id, 128) || access_key_id.contains(['/', ',']) {
            return Err(wrong("auth.access_key_id", "1 to 128 letters and digits"));
        }
        if !fits(secret_access_key.reveal(), 1024) {
            return Err(wrong("auth.secret_access_key", "1 to 1024 visible ASCII characters"));
        }
        if session_token.as_ref().is_some_and(|token| !fits(token.reveal(), 4096)) {
            return Err(wrong("auth.session_token", "1 to 4096 visible ASCII characters"));
        }
        Ok(Self::Given(identity.clone()))
    }

    /// The key as it is now.
    ///
    /// # Errors
    /// The file has none.
    pub(super) fn current(&self) -> Result<AwsIdentity, SendFailure> {
        let file = match self {
            Self::Given(identity) => return Ok(identity.clone()),
            Self::File(file) => file,
        };
        let failed = |why: String| {
            SendFailure::new(AttemptFailure::Token, format!("{}: {why}", file.display()))
        };
        let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let identity = (text.len() <= MAX_FILE).then(|| parse(&text)).flatten();
        identity.ok_or_else(|| failed("it has no access key in the profile default".to_owned()))
    }
}

/// The profile `default` of a file of credentials.
fn parse(text: &str) -> Option<AwsIdentity> {
    let lines = text.lines().map(str::trim).skip_while(|line| *line != "[default]").skip(1);
    let own =
        lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    let (mut id, mut secret, mut token) = (None, None, None);
    for (name, value) in own {
        let value = value.trim();
        match name.trim() {
            "aws_access_key_id" => id = Some(value.to_owned()),
            "aws_secret_access_key" => secret = Some(SecretText::new(value)),
            "aws_session_token" => token = Some(SecretText::new(value)),
            _ => {}
        }
    }
    let (access_key_id, secret_access_key) = (id?, secret?);
    Some(AwsIdentity { access_key_id, secret_access_key, session_token: token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_profile_of_a_file_is_read_and_no_other() {
        let text = "[old]\naws_access_key_id=X\n[default]\naws_access_key_id = A\naws_secret_access_key= s/=\n\n[new]\naws_session_token=Y\n";
        let identity = parse(text).expect("it has a key");
        assert_eq!(
            (identity.access_key_id.as_str(), identity.secret_access_key.reveal()),
            ("A", "s/=")
        );
        assert!(identity.session_token.is_none());
        assert!(parse("[default]\naws_access_key_id = A\n").is_none());
    }
}
