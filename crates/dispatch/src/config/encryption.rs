//! The settings of the keys with which secrets are encrypted in the store, and the keys themselves, from a file, a
//! command or a variable.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use stagger_store::EncryptionKeys;
use tokio::sync::oneshot;

use crate::Error;

/// The time within which the command has to print the keys: a call of a key service takes seconds.
const COMMAND_TIME: Duration = Duration::from_secs(30);

/// The place of the keys that encrypt secrets in the store. Default: none, and secrets are not encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncryptionSettings {
    /// A file with a key a line, the writing one first.
    pub key_file: Option<PathBuf>,
    /// A command of the shell that prints such lines.
    pub key_command: Option<String>,
    /// The keys themselves, with commas or line breaks between them.
    pub keys: Option<KeyLines>,
}

/// Keys as they were given; never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyLines(String);

impl KeyLines {
    /// The keys of a text.
    pub(super) fn given(text: &str) -> Option<Self> {
        let lines = text.replace(',', "\n");
        EncryptionKeys::parse(&lines).is_ok().then_some(Self(lines))
    }
}

impl fmt::Debug for KeyLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLines(..)")
    }
}

impl EncryptionSettings {
    /// Reads the keys.
    ///
    /// # Errors
    /// More than one source is set; the file cannot be read; the command fails, or does not end within 30 s; a line is
    /// no key.
    pub async fn load(&self) -> Result<EncryptionKeys, Error> {
        match (&self.key_file, &self.key_command, &self.keys) {
            (None, None, None) => Ok(EncryptionKeys::default()),
            (Some(file), None, None) => EncryptionKeys::parse(&read(file)?),
            (None, Some(command), None) => EncryptionKeys::parse(&output(command).await?),
            (None, None, Some(KeyLines(lines))) => EncryptionKeys::parse(lines),
            _ => {
                let bound = "one of encryption_key_file, encryption_key_command and encryption_key";
                Err(Error::invalid("encryption_key", "several sources", bound))
            }
        }
    }
}

fn read(file: &Path) -> Result<String, Error> {
    let read = std::fs::read_to_string(file);
    let refused = |error| {
        Error::invalid("encryption_key_file", file.display(), format!("a readable file: {error}"))
    };
    read.map_err(refused)
}

/// The lines that a command prints. Its messages go to standard error.
async fn output(command: &str) -> Result<String, Error> {
    let refused = |bound: String| Error::invalid("encryption_key_command", command, bound);
    let mut child = Command::new("sh");
    child.args(["-c", command]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let (reply, answer) = oneshot::channel();
    // A thread of its own: one that hangs must not keep the program from ending.
    let work = move || drop(reply.send(child.output()));
    let thread = std::thread::Builder::new().name("stagger-keys".into()).spawn(work);
    thread.map_err(|error| refused(format!("started: {error}")))?;
    let Ok(answer) = tokio::time::timeout(COMMAND_TIME, answer).await else {
        return Err(refused("a command that ends within 30s".to_owned()));
    };
    let answer = answer.map_err(|_| refused("started".to_owned()))?;
    let output = answer.map_err(|error| refused(format!("started: {error}")))?;
    if !output.status.success() {
        return Err(refused(format!("a command that succeeds; it ended with {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| refused("a command that prints UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    async fn ids(config: &str) -> Result<usize, String> {
        let mut settings = Config::default();
        settings.apply_text("test.toml", config).map_err(|fault| fault.to_string())?;
        let keys = settings.encryption.load().await.map_err(|error| error.to_string())?;
        assert!(!format!("{:?}", settings.encryption.keys).contains("AAEC"));
        Ok(keys.ids().count())
    }

    #[tokio::test]
    async fn keys_come_from_a_file_a_command_or_the_setting_itself() {
        let file = std::env::temp_dir().join(format!("stagger-keys-{}", std::process::id()));
        std::fs::write(&file, format!("# of this year\n{KEY}\n")).unwrap();
        let named = format!("encryption_key_file = '{}'", file.display());
        assert_eq!(ids(&named).await, Ok(1));
        assert_eq!(ids(&format!("encryption_key_command = 'echo {KEY}'")).await, Ok(1));
        assert_eq!(ids(&format!("encryption_key = 'plain,{KEY}'")).await, Ok(1));
        assert_eq!(ids("").await, Ok(0));
        let both = format!("{named}\nencryption_key = '{KEY}'");
        assert!(ids(&both).await.unwrap_err().contains("several sources"));
        std::fs::remove_file(&file).unwrap();
        assert!(ids(&named).await.unwrap_err().contains("a readable file"));
        let told = ids("encryption_key_command = 'exit 3'").await.unwrap_err();
        assert!(told.contains("a command that succeeds") && told.contains('3'), "{told}");
        let told = ids("encryption_key_command = 'echo hunter2'").await.unwrap_err();
        assert!(told.contains("line 1") && !told.contains("hunter2\n"), "{told}");
        let told = ids("encryption_key = 'hunter2'").await.unwrap_err();
        assert!(told.contains("encryption_key") && !told.contains("hunter2"), "{told}");
    }
}
