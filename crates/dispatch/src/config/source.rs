//! The settings of sources: tables `[[source]]` of the file.

use std::ops::RangeInclusive;
#[cfg(any(feature = "kafka", feature = "nats", feature = "pubsub", feature = "sqs"))]
use std::path::PathBuf;

#[cfg(feature = "sqs")]
use stagger_brokers::{AwsCredentials, SqsSourceSettings};
use stagger_text::settings::{Flaw, Reader};

/// Most sources of a dispatcher: each is a task with a connection.
const MAX_SOURCES: usize = 100;
/// Longest name, in bytes: it begins idempotency keys.
const NAME: RangeInclusive<usize> = 1..=64;

/// The session of a member of a group of Kafka, unless it is set: that of Java's clients, and longer than the longest pause of a
/// source whose store is away.
#[cfg(feature = "kafka")]
const SESSION: stagger::Span = stagger::Span::from_secs(45);

/// A source: the messages of a broker become messages of an application.
#[derive(Clone, Debug)]
pub struct SourceSettings {
    /// Its name in logs, metrics and idempotency keys.
    pub name: String,
    /// The application that sends the messages, as an id or `uid:ID`: default that of the header `stagger-application`.
    pub application: Option<String>,
    /// The type of all messages: default that of the header `stagger-event-type`.
    pub event_type: Option<String>,
    /// Whether payloads have to be JSON: default true.
    pub json: bool,
    /// The broker.
    pub(crate) kind: SourceKind,
}

/// The broker of a source.
#[derive(Clone, Debug)]
pub(crate) enum SourceKind {
    /// A durable pull consumer of JetStream.
    #[cfg(feature = "nats")]
    Nats(Box<NatsSourceTable>),
    /// A member of a consumer group of Kafka.
    #[cfg(feature = "kafka")]
    Kafka(Box<KafkaSourceTable>),
    /// A queue of Amazon SQS.
    #[cfg(feature = "sqs")]
    Sqs(SqsSourceSettings),
    /// A subscription of Google Cloud Pub/Sub.
    #[cfg(feature = "pubsub")]
    PubSub(stagger_brokers::PubSubSourceSettings),
    /// A broker that this build lacks.
    Unbuilt(&'static str),
}

/// A source of NATS with its credentials in files.
#[cfg(feature = "nats")]
#[derive(Clone, Debug)]
pub(crate) struct NatsSourceTable {
    settings: stagger_brokers::NatsSourceSettings,
    username: Option<String>,
    password_file: Option<PathBuf>,
    token_file: Option<PathBuf>,
    nkey_file: Option<PathBuf>,
}

/// A source of Kafka with its password in a file.
#[cfg(feature = "kafka")]
#[derive(Clone, Debug)]
pub(crate) struct KafkaSourceTable {
    settings: stagger_brokers::KafkaSourceSettings,
    username: Option<String>,
    password_file: Option<PathBuf>,
}

impl SourceSettings {
    /// All tables `[[source]]` of a file.
    ///
    /// # Errors
    /// A setting with the bound it breaks.
    pub(super) fn all(reader: &Reader<'_, '_>) -> Result<Vec<Self>, Flaw> {
        let tables = reader.tables("source")?;
        if tables.len() > MAX_SOURCES {
            return Err(reader.wrong("source", "at most 100 tables"));
        }
        let mut all: Vec<Self> = Vec::new();
        for table in tables {
            let source = Self::read(&table)?;
            if all.iter().any(|known| known.name == source.name) {
                return Err(table.wrong("name", "a name that no other source has"));
            }
            all.push(source);
        }
        Ok(all)
    }

    fn read(table: &Reader<'_, '_>) -> Result<Self, Flaw> {
        let text = |key| Ok::<_, Flaw>(table.text(key)?.map(str::to_owned));
        let name = table.need("name", text("name")?)?;
        let is_name = NAME.contains(&name.len())
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'));
        if !is_name {
            return Err(table.wrong("name", "1 to 64 letters, digits, - and _"));
        }
        let kinds = [("kafka", "kafka"), ("nats", "nats"), ("pubsub", "pubsub"), ("sqs", "sqs")];
        let kind = table.need("type", table.word("type", &kinds)?)?;
        let source = Self {
            name,
            application: text("application")?,
            event_type: text("event_type")?,
            json: table.boolean("json")?.unwrap_or(true),
            kind: match kind {
                #[cfg(feature = "nats")]
                "nats" => SourceKind::Nats(Box::new(NatsSourceTable::read(table)?)),
                #[cfg(feature = "kafka")]
                "kafka" => SourceKind::Kafka(Box::new(KafkaSourceTable::read(table)?)),
                #[cfg(feature = "sqs")]
                "sqs" => SourceKind::Sqs(sqs(table)?),
                #[cfg(feature = "pubsub")]
                "pubsub" => SourceKind::PubSub(pubsub(table)?),
                other => SourceKind::Unbuilt(other),
            },
        };
        if !matches!(source.kind, SourceKind::Unbuilt(_)) {
            table.done()?;
        }
        Ok(source)
    }
}

#[cfg(feature = "nats")]
impl NatsSourceTable {
    fn read(table: &Reader<'_, '_>) -> Result<Self, Flaw> {
        let text = |key| Ok::<_, Flaw>(table.text(key)?.map(str::to_owned));
        let file = |key| Ok::<_, Flaw>(table.text(key)?.map(PathBuf::from));
        let settings = stagger_brokers::NatsSourceSettings {
            url: table.need("url", text("url")?)?,
            stream: table.need("stream", text("stream")?)?,
            consumer: text("consumer")?.unwrap_or_else(|| "stagger".to_owned()),
            subject: text("subject")?,
            dead_letter: text("dead_letter")?,
            auth: None,
        };
        let (username, password_file) = (text("username")?, file("password_file")?);
        if username.is_some() != password_file.is_some() {
            return Err(table.flaw("username and password_file are set together"));
        }
        let (token_file, nkey_file) = (file("token_file")?, file("nkey_file")?);
        let ways = [username.is_some(), token_file.is_some(), nkey_file.is_some()];
        if ways.iter().filter(|it| **it).count() > 1 {
            return Err(table.flaw("one of username, token_file and nkey_file can be set"));
        }
        Ok(Self { settings, username, password_file, token_file, nkey_file })
    }

    /// The settings with the secrets of the files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn with_secrets(&self) -> Result<stagger_brokers::NatsSourceSettings, crate::Error> {
        use stagger_scheduler::model::{EndpointAuth, NkeyIdentity};
        let auth = match (&self.username, &self.password_file, &self.token_file, &self.nkey_file) {
            (Some(username), Some(file), ..) => Some(EndpointAuth::Basic {
                username: username.clone(),
                password: secret("source.password_file", file)?,
            }),
            (_, _, Some(file), _) => {
                Some(EndpointAuth::Bearer { token: secret("source.token_file", file)? })
            }
            (.., Some(file)) => Some(EndpointAuth::Nkey(NkeyIdentity {
                seed: secret("source.nkey_file", file)?,
                jwt: None,
            })),
            _ => None,
        };
        Ok(stagger_brokers::NatsSourceSettings { auth, ..self.settings.clone() })
    }
}

#[cfg(feature = "kafka")]
impl KafkaSourceTable {
    fn read(table: &Reader<'_, '_>) -> Result<Self, Flaw> {
        use stagger_brokers::KafkaStart;
        use stagger_scheduler::model::KafkaSasl;
        let text = |key| Ok::<_, Flaw>(table.text(key)?.map(str::to_owned));
        let starts = [("earliest", KafkaStart::Earliest), ("latest", KafkaStart::Latest)];
        let mechanisms = [
            ("plain", KafkaSasl::Plain),
            ("scram-sha-256", KafkaSasl::ScramSha256),
            ("scram-sha-512", KafkaSasl::ScramSha512),
        ];
        let settings = stagger_brokers::KafkaSourceSettings {
            url: table.need("url", text("url")?)?,
            topic: table.need("topic", text("topic")?)?,
            group: text("group")?.unwrap_or_else(|| "stagger".to_owned()),
            start: table.word("start", &starts)?.unwrap_or_default(),
            session: table.above_zero("session_timeout")?.unwrap_or(SESSION),
            dead_letter: text("dead_letter")?,
            sasl: table.word("sasl", &mechanisms)?,
            auth: None,
        };
        let (username, password_file) = (text("username")?, text("password_file")?);
        if username.is_some() != password_file.is_some() {
            return Err(table.flaw("username and password_file are set together"));
        }
        if settings.sasl.is_some() && username.is_none() {
            return Err(table.wrong("sasl", "set together with username and password_file"));
        }
        Ok(Self { settings, username, password_file: password_file.map(PathBuf::from) })
    }

    /// The settings with the password of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn with_secrets(
        &self,
    ) -> Result<stagger_brokers::KafkaSourceSettings, crate::Error> {
        let mut settings = self.settings.clone();
        if let (Some(username), Some(file)) = (&self.username, &self.password_file) {
            let (username, password) = (username.clone(), secret("source.password_file", file)?);
            settings.auth =
                Some(stagger_scheduler::model::EndpointAuth::Basic { username, password });
        }
        Ok(settings)
    }
}

/// The secret in a file, without the line break at its end.
#[cfg(any(feature = "kafka", feature = "nats"))]
fn secret(
    field: &'static str,
    file: &PathBuf,
) -> Result<stagger_scheduler::model::SecretText, crate::Error> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        crate::Error::invalid(field, file.display(), format!("readable: {error}"))
    })?;
    Ok(stagger_scheduler::model::SecretText::new(text.trim()))
}

#[cfg(feature = "sqs")]
fn sqs(table: &Reader<'_, '_>) -> Result<SqsSourceSettings, Flaw> {
    let text = |key| Ok::<_, Flaw>(table.text(key)?.map(str::to_owned));
    let file = table.need("credentials_file", table.text("credentials_file")?)?;
    Ok(SqsSourceSettings {
        url: table.need("url", text("url")?)?,
        region: table.need("region", text("region")?)?,
        dead_letter: text("dead_letter")?,
        credentials: AwsCredentials::File(PathBuf::from(file)),
    })
}

#[cfg(feature = "pubsub")]
fn pubsub(table: &Reader<'_, '_>) -> Result<stagger_brokers::PubSubSourceSettings, Flaw> {
    let text = |key| Ok::<_, Flaw>(table.text(key)?.map(str::to_owned));
    Ok(stagger_brokers::PubSubSourceSettings {
        url: table.need("url", text("url")?)?,
        dead_letter: text("dead_letter")?,
        token_file: table.text("token_file")?.map(PathBuf::from),
    })
}
