//! Judges addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ranges::{Reach, is_assigned_v6, special_v4, special_v6};

/// Allows globally routable addresses, and private ones if it is configured to.
///
/// ```
/// use stagger_sender::EgressGuard;
/// let guard = EgressGuard::new(false);
/// assert!(guard.judge("8.8.8.8".parse()?).is_ok());
/// let refused = guard.judge("169.254.169.254".parse()?).expect_err("where clouds keep their keys");
/// assert!(refused.to_string().starts_with("169.254.169.254 is not globally routable"));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EgressGuard {
    allow_private: bool,
}

/// An address that may not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressRefusal {
    address: IpAddr,
    range: &'static str,
}

impl EgressGuard {
    /// A guard; with `allow_private` it lets loopback and private addresses pass, but never
    /// link-local ones, where clouds hand out the machine's keys.
    #[must_use]
    pub const fn new(allow_private: bool) -> Self {
        Self { allow_private }
    }

    /// Whether private addresses pass: in tests, where TLS is not asked for either.
    pub(crate) const fn allows_private(self) -> bool {
        self.allow_private
    }

    /// The address to connect to, an IPv4 one where it was only written as IPv6.
    ///
    /// # Errors
    /// The address is not to be reached.
    pub fn judge(self, address: IpAddr) -> Result<IpAddr, EgressRefusal> {
        let unmapped = address.to_canonical();
        let refusal = match unmapped {
            IpAddr::V4(ip) => self.refuse_v4(ip),
            IpAddr::V6(ip) => self.refuse_v6(ip),
        };
        match refusal {
            None => Ok(unmapped),
            Some(range) => Err(EgressRefusal { address, range }),
        }
    }

    /// All addresses, or none: a name with a good and a bad address is an attempt to reach the bad
    /// one.
    ///
    /// # Errors
    /// The first that is not to be reached.
    pub fn judge_all(self, addresses: &[IpAddr]) -> Result<Vec<IpAddr>, EgressRefusal> {
        addresses.iter().map(|address| self.judge(*address)).collect()
    }

    fn refuse_v4(self, ip: Ipv4Addr) -> Option<&'static str> {
        let range = special_v4(ip)?;
        (!self.may(range.reach)).then_some(range.name)
    }

    fn refuse_v6(self, ip: Ipv6Addr) -> Option<&'static str> {
        match special_v6(ip) {
            None if is_assigned_v6(ip) => None,
            None => Some("not assigned (RFC 4291)"),
            Some(range) => match range.reach {
                Reach::Inner(shift) => self.refuse_v4(inner(ip, shift)),
                reach => (!self.may(reach)).then_some(range.name),
            },
        }
    }

    const fn may(self, reach: Reach) -> bool {
        matches!(reach, Reach::Private) && self.allow_private
    }
}

impl std::error::Error for EgressRefusal {}

impl fmt::Display for EgressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not globally routable: {}", self.address, self.range)
    }
}

/// The embedded IPv4 address, at this many bits from the right.
const fn inner(ip: Ipv6Addr, shift: u32) -> Ipv4Addr {
    #[expect(clippy::cast_possible_truncation, reason = "the 32 bits on the right are meant")]
    // OK because the bits on the left of the 32 are the prefix.
    Ipv4Addr::from_bits((ip.to_bits() >> shift) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(allow_private: bool, text: &str) -> Result<IpAddr, EgressRefusal> {
        EgressGuard::new(allow_private).judge(text.parse().expect(text))
    }

    const NEVER: [&str; 56] = [
        "0.0.0.0",
        "0.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::2",
        "::7f00:1",
        "::a9fe:a9fe",
        "::808:808",
        "::ffff:0.0.0.0",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "::ffff:0:808:808",
        "64:ff9b::169.254.169.254",
        "64:ff9b::0.0.0.0",
        "64:ff9b:1::1",
        "64:ff9b:1:ffff:ffff:ffff:808:808",
        "64:ff9b:2::1",
        "100::1",
        "100:0:0:1::1",
        "1000::1",
        "2001::1",
        "2001:0:808:808::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:a9fe:a9fe::1",
        "2002:e000:1::1",
        "3fff::1",
        "3fff:fff:ffff::1",
        "4000::1",
        "5f00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::a9fe:a9fe",
        "febf::1",
        "fec0::1",
        "ff02::1",
    ];
    const PRIVATE: [&str; 17] = [
        "10.0.0.1",
        "10.255.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.255.255",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::127.0.0.1",
        "2002:7f00:1::1",
        "2002:c0a8:1::1",
        "fc00::1",
        "fd12:3456:789a::1",
    ];
    const GLOBAL: [&str; 20] = [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::1",
        "2606:4700:4700::1111",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ];

    #[test]
    fn nothing_but_global_addresses_passes() {
        for text in NEVER.iter().chain(&PRIVATE) {
            assert!(judge(false, text).is_err(), "{text}");
        }
        for text in GLOBAL {
            assert!(judge(false, text).is_ok(), "{text}");
        }
    }

    #[test]
    fn private_addresses_pass_on_demand_and_metadata_does_not() {
        for text in NEVER {
            assert!(judge(true, text).is_err(), "{text}");
        }
        for text in PRIVATE.iter().chain(&GLOBAL) {
            assert!(judge(true, text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_mapped_address_is_dialled_as_what_it_is() {
        assert_eq!(judge(false, "::ffff:8.8.8.8"), Ok("8.8.8.8".parse().expect("an address")));
    }

    #[test]
    fn one_bad_answer_refuses_the_good_ones() {
        let ips = |texts: [&str; 2]| texts.map(|text| text.parse().expect(text));
        let guard = EgressGuard::new(false);
        assert!(guard.judge_all(&ips(["8.8.8.8", "::1"])).is_err());
        assert!(guard.judge_all(&ips(["fe80::1", "8.8.8.8"])).is_err());
        assert_eq!(guard.judge_all(&ips(["8.8.8.8", "1.1.1.1"])).map(|all| all.len()), Ok(2));
    }

    #[test]
    fn a_refusal_names_the_address_and_the_range() {
        let refusal = judge(false, "::ffff:127.0.0.1").expect_err("loopback").to_string();
        assert_eq!(refusal, "::ffff:127.0.0.1 is not globally routable: loopback (RFC 1122)");
    }
}
