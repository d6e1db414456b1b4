//! SCRAM (RFC 5802, RFC 7677): the password is proved to the broker, and the broker proves that it knows it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};
use stagger_scheduler::model::AttemptFailure;
use stagger_sender::{SendFailure, os_fill};

use crate::refusal::BrokerRefusal;

/// The rounds that a broker may ask for: at least those of RFC 7677, and not so many that its answer is an attack.
const ROUNDS: std::ops::RangeInclusive<u32> = 4096..=65_536;

/// The hash of a mechanism.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScramHash {
    Sha256,
    Sha512,
}

/// The client's side of one conversation.
#[derive(Debug)]
pub(super) struct ScramClient {
    hash: ScramHash,
    nonce: String,
    /// The first message without its header.
    bare: String,
    /// The signature that the broker has to show.
    expected: Option<Vec<u8>>,
}

impl ScramClient {
    /// A conversation with a nonce that no other one has.
    ///
    /// # Errors
    /// There is no randomness.
    pub(super) fn new(hash: ScramHash, username: &str) -> Result<Self, BrokerRefusal> {
        let mut bytes = [0; 18];
        os_fill(&mut bytes)
            .map_err(|_| SendFailure::new(AttemptFailure::Local, "no randomness"))?;
        Ok(Self::with_nonce(hash, username, STANDARD.encode(bytes)))
    }

    fn with_nonce(hash: ScramHash, username: &str, nonce: String) -> Self {
        let username = username.replace('=', "=3D").replace(',', "=2C");
        let bare = format!("n={username},r={nonce}");
        Self { hash, nonce, bare, expected: None }
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// The second message, which proves that this side knows the password.
    ///
    /// # Errors
    /// The challenge is not of the mechanism, or is out of bounds.
    pub(super) fn proof(
        &mut self,
        challenge: &[u8],
        password: &str,
    ) -> Result<String, BrokerRefusal> {
        let wrong = || BrokerRefusal::new(401, "the challenge of the broker is not that of SCRAM");
        let challenge = std::str::from_utf8(challenge).map_err(|_| wrong())?;
        let part = |name: &str| {
            challenge.split(',').find_map(|part| part.strip_prefix(name)).ok_or_else(wrong)
        };
        let nonce = part("r=")?;
        let salt = STANDARD.decode(part("s=")?).map_err(|_| wrong())?;
        let rounds: u32 = part("i=")?.parse().map_err(|_| wrong())?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(wrong());
        }
        if !ROUNDS.contains(&rounds) {
            let detail = format!("{rounds} rounds of SCRAM; 4096 to 65536 are done");
            return Err(BrokerRefusal::new(401, detail));
        }
        // `biws` is the header `n,,` in base64.
        let bare = format!("c=biws,r={nonce}");
        let conversation = format!("{},{challenge},{bare}", self.bare);
        let salted = self.hash.salted(password.as_bytes(), &salt, rounds);
        let client = self.hash.mac(&salted, b"Client Key");
        let signature = self.hash.mac(&self.hash.digest(&client), conversation.as_bytes());
        let proof: Vec<u8> = client.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let server = self.hash.mac(&salted, b"Server Key");
        self.expected = Some(self.hash.mac(&server, conversation.as_bytes()));
        Ok(format!("{bare},p={}", STANDARD.encode(proof)))
    }

    /// Checks that the broker knows the password.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn check(&self, last: &[u8]) -> Result<(), BrokerRefusal> {
        let shown = last.strip_prefix(b"v=").and_then(|it| STANDARD.decode(it).ok());
        match shown {
            Some(shown) if Some(&shown) == self.expected.as_ref() => Ok(()),
            _ => {
                Err(BrokerRefusal::new(401, "the broker does not prove that it knows the password"))
            }
        }
    }
}

impl ScramHash {
    fn mac(self, key: &[u8], bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => {
                let mut mac =
                    Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length");
                mac.update(bytes);
                mac.finalize().into_bytes().to_vec()
            }
            Self::Sha512 => {
                let mut mac =
                    Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of every length");
                mac.update(bytes);
                mac.finalize().into_bytes().to_vec()
            }
        }
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    /// `Hi` of RFC 5802: PBKDF2 with one block.
    fn salted(self, password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
        let mut last = self.mac(password, &[salt, &[0, 0, 0, 1]].concat());
        let mut all = last.clone();
        for _ in 1..rounds {
            last = self.mac(password, &last);
            all.iter_mut().zip(&last).for_each(|(all, last)| *all ^= last);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> ScramClient {
        ScramClient::with_nonce(ScramHash::Sha256, "user", "rOprNGfwEbeRWgbNEkqO".to_owned())
    }

    const CHALLENGE: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    /// The conversation of RFC 7677 section 3.
    #[test]
    fn the_conversation_of_the_standard() {
        let mut client = client();
        assert_eq!(client.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let proof = client.proof(CHALLENGE.as_bytes(), "pencil").expect("it is a challenge");
        assert_eq!(
            proof,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        client.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").expect("it knows it");
        assert!(client.check(b"v=AAAA").is_err() && client.check(b"e=invalid-proof").is_err());
    }

    #[test]
    fn a_challenge_of_another_conversation_or_without_an_end_is_refused() {
        let rounds = |it: &str| CHALLENGE.replace("i=4096", it);
        for wrong in [
            String::new(),
            CHALLENGE.replace("rOpr", "xxxx"),
            "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".to_owned(),
            rounds("i=1"),
            rounds("i=4000000000"),
            rounds("i=x"),
        ] {
            assert!(client().proof(wrong.as_bytes(), "pencil").is_err(), "{wrong}");
        }
        assert!(client().check(b"v=").is_err(), "nothing is expected yet");
    }
}
