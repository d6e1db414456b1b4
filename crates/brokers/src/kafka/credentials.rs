//! Credentials for a broker of Kafka: SASL with PLAIN or SCRAM (KIP-12, KIP-84, KIP-152).

use stagger::ConfigError;
use stagger_scheduler::model::{ApplicationId, EndpointAuth, KafkaSasl, SecretText};
use stagger_sender::{BrokerAddress, GuardedNetwork};

use super::connection::KafkaConnection;
use super::error_code::ErrorCode;
use super::scram::{ScramClient, ScramHash};
use super::wire::{KafkaRequest, KafkaWriter};
use crate::refusal::BrokerRefusal;

/// The credentials that a connection begins with.
#[derive(Clone, Debug)]
pub(super) enum KafkaCredentials {
    None,
    Sasl { mechanism: KafkaSasl, username: String, password: SecretText },
}

impl KafkaCredentials {
    /// Those of an endpoint or a source. A client certificate is shown in the TLS handshake.
    ///
    /// # Errors
    /// `auth`, or `sasl` without a name and a password.
    pub(super) fn new(
        auth: Option<&EndpointAuth>,
        sasl: Option<KafkaSasl>,
    ) -> Result<Self, ConfigError> {
        match auth {
            Some(EndpointAuth::Basic { username, password }) => {
                let (mechanism, username) = (sasl.unwrap_or_default(), username.clone());
                Ok(Self::Sasl { mechanism, username, password: password.clone() })
            }
            None | Some(EndpointAuth::Mtls(_)) => match sasl {
                None => Ok(Self::None),
                Some(mechanism) => {
                    let bound = "left out without auth of the type basic";
                    Err(ConfigError::new("destination.sasl", mechanism.name(), bound))
                }
            },
            Some(other) => {
                let bound = "basic or mtls for a broker of Kafka";
                Err(ConfigError::new("auth", other.kind(), bound))
            }
        }
    }

    /// A connection that the broker has authenticated.
    ///
    /// # Errors
    /// No connection; the broker refuses the credentials, or cannot prove that it knows the password (SCRAM).
    pub(super) async fn open(
        &self,
        network: &GuardedNetwork,
        to: (&BrokerAddress, ApplicationId),
    ) -> Result<KafkaConnection, BrokerRefusal> {
        let mut connection = KafkaConnection::open(network, to).await?;
        self.authenticate(&mut connection).await?;
        connection.trust();
        Ok(connection)
    }

    async fn authenticate(&self, connection: &mut KafkaConnection) -> Result<(), BrokerRefusal> {
        let Self::Sasl { mechanism, username, password } = self else { return Ok(()) };
        handshake(connection, *mechanism).await?;
        let hash = match mechanism {
            KafkaSasl::Plain => {
                let text = format!("\0{username}\0{}", password.reveal());
                return say(connection, text.as_bytes()).await.map(|_| ());
            }
            KafkaSasl::ScramSha256 => ScramHash::Sha256,
            KafkaSasl::ScramSha512 => ScramHash::Sha512,
        };
        let mut client = ScramClient::new(hash, username)?;
        let challenge = say(connection, client.first().as_bytes()).await?;
        let proof = client.proof(&challenge, password.reveal())?;
        let signature = say(connection, proof.as_bytes()).await?;
        client.check(&signature)
    }
}

async fn handshake(
    connection: &mut KafkaConnection,
    mechanism: KafkaSasl,
) -> Result<(), BrokerRefusal> {
    let mut body = KafkaWriter::default();
    body.text(mechanism.name());
    let mut answer = connection.call(KafkaRequest::SaslHandshake, &body).await?;
    let (error, enabled) = (answer.i16()?, answer.list(super::wire::KafkaReader::text)?);
    match ErrorCode::check(error) {
        Ok(()) => Ok(()),
        Err(error @ ErrorCode::UNSUPPORTED_SASL_MECHANISM) => {
            let enabled = enabled.join(", ");
            Err(error.refusal(&format!("{}; the broker has {enabled}", mechanism.name())))
        }
        Err(error) => Err(error.refusal(mechanism.name())),
    }
}

/// One message of the mechanism, and its answer.
async fn say(
    connection: &mut KafkaConnection,
    bytes: &[u8],
) -> Result<bytes::Bytes, BrokerRefusal> {
    let mut body = KafkaWriter::default();
    body.bytes(bytes);
    let mut answer = connection.call(KafkaRequest::SaslAuthenticate, &body).await?;
    let (error, why) = (answer.i16()?, answer.nullable_text()?);
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let about = format!("the credentials{why}");
    ErrorCode::check(error).map_err(|error| error.refusal(&about))?;
    Ok(answer.bytes()?)
}
