//! Ledgers that all proxies of a fleet share in Redis.

use stagger::Policy;
use stagger_core::breaker::Destination;
use stagger_redis::{SharedOptions, SharedStore};

use super::ledger_registry::MakeLedger;
use crate::config::{FleetSettings, SettingsFault};

/// Bytes of a destination in the name of a budget: the store takes names of at most 200.
const MAX_DESTINATION: usize = 160;

/// Ledgers whose budgets all proxies with the same store lease from, for
/// [`Proxy::bind_with_ledgers`](crate::Proxy::bind_with_ledgers). Hints are each proxy's own, and breakers are unless
/// `shares_breakers`.
///
/// `processes` is the expected number of proxies: without the store, each has this part of the budget. No call waits
/// for the store.
///
/// # Errors
/// A number of 0, a URL that names no store, and a store that refuses the user. A store that does not answer is no
/// error.
pub async fn fleet_ledgers(
    url: &str,
    processes: u32,
    shares_breakers: bool,
) -> Result<Box<MakeLedger>, SettingsFault> {
    let fault = |why: String| SettingsFault::new(format!("the store of budgets: {why}"));
    if url.starts_with("rediss:") || url.starts_with("valkeys:") {
        // The client of the store takes the process's provider of TLS. Where there is one already, it stays.
        _ = rustls::crypto::ring::default_provider().install_default();
    }
    let options = SharedOptions::new(processes).map_err(|error| fault(error.to_string()))?;
    let options = options.with_shared_breaker(shares_breakers);
    let store = SharedStore::connect(url, options).await.map_err(|e| fault(e.to_string()))?;
    Ok(Box::new(move |destination, policy| {
        let ledger = store.ledger(&budget_name(destination, policy), policy);
        ledger.map(Into::into).map_err(|error| fault(error.to_string()))
    }))
}

/// The ledgers of the fleet that the settings name; `None` for ledgers of this proxy alone.
///
/// # Errors
/// As of [`fleet_ledgers`], with the setting that names the store, and a file with its URL that cannot be read.
pub(crate) async fn ledgers_of(
    settings: &FleetSettings,
) -> Result<Option<Box<MakeLedger>>, SettingsFault> {
    let Some((origin, url)) = settings.store()? else { return Ok(None) };
    let made = fleet_ledgers(&url, settings.processes(), settings.shares_breakers()).await;
    made.map(Some).map_err(|fault| SettingsFault::new(format!("{origin}: {fault}")))
}

/// The name of a budget: the destination, and what tells its policies apart. It is the same in all versions.
fn budget_name(destination: &Destination, policy: &Policy) -> String {
    // A policy without a text form does not exist; it would share the budget of the destination.
    let policy = serde_json::to_string(policy).unwrap_or_default();
    let destination = destination.as_str();
    let hash = fnv1a(destination.bytes().chain(policy.bytes()));
    let shown: String = destination.chars().take(MAX_DESTINATION).collect();
    format!("proxy {shown} {hash:016x}")
}

/// FNV-1a, which is written down for good; the standard library's hash may change.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_policies_of_a_destination_shared_a_budget() {
        let destination = Destination::new("https", "a.example", None).expect("a destination");
        let [one, other] = [Policy::default(), Policy::webhook()];
        let name = budget_name(&destination, &one);
        assert!(name.starts_with("proxy https://a.example:443 "), "{name}");
        assert_ne!(name, budget_name(&destination, &other));
        assert_eq!(name, budget_name(&destination, &Policy::default()));
        assert_eq!(fnv1a(b"a".iter().copied()), 0xaf63_dc4c_8601_ec8c, "as it is published");
    }

    #[test]
    fn a_long_host_made_a_name_that_the_store_refused() {
        let host = format!("{}.example", vec!["a"; 100].join("."));
        let destination = Destination::new("https", &host, None).expect("a destination");
        assert!(budget_name(&destination, &Policy::default()).len() <= 200);
    }
}
