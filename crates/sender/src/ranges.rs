//! Addresses that are not globally routable: the special-purpose registries of IANA (RFC 6890).

use std::net::{Ipv4Addr, Ipv6Addr};

/// A block of addresses, and its purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range<A> {
    base: A,
    prefix: u32,
    pub(super) name: &'static str,
    pub(super) reach: Reach,
}

/// The callers that may reach a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// No caller.
    Never,
    /// Only callers that allow private addresses: tests on one machine or in one network.
    Private,
    /// The rule of the IPv4 address that is embedded, at this many bits from the right.
    Inner(u32),
}

use Reach::{Inner, Never, Private};

/// IPv4: whatever is not here is global.
const V4: [Range<Ipv4Addr>; 18] = [
    v4([0, 0, 0, 0], 8, Never, "this host (RFC 1122)"),
    v4([10, 0, 0, 0], 8, Private, "private (RFC 1918)"),
    v4([100, 64, 0, 0], 10, Never, "carrier-grade NAT (RFC 6598)"),
    v4([127, 0, 0, 0], 8, Private, "loopback (RFC 1122)"),
    v4([169, 254, 0, 0], 16, Never, "link-local (RFC 3927)"),
    // Public by its number, but reached by virtual machines only: it hands out their keys.
    v4([168, 63, 129, 16], 32, Never, "metadata of Azure"),
    v4([172, 16, 0, 0], 12, Private, "private (RFC 1918)"),
    v4([192, 0, 0, 0], 24, Never, "protocol assignments (RFC 6890)"),
    v4([192, 0, 2, 0], 24, Never, "documentation (RFC 5737)"),
    v4([192, 31, 196, 0], 24, Never, "AS112 (RFC 7535)"),
    v4([192, 88, 99, 0], 24, Never, "6to4 relay (RFC 7526)"),
    v4([192, 168, 0, 0], 16, Private, "private (RFC 1918)"),
    v4([192, 175, 48, 0], 24, Never, "AS112 (RFC 7534)"),
    v4([198, 18, 0, 0], 15, Never, "benchmarking (RFC 2544)"),
    v4([198, 51, 100, 0], 24, Never, "documentation (RFC 5737)"),
    v4([203, 0, 113, 0], 24, Never, "documentation (RFC 5737)"),
    v4([224, 0, 0, 0], 4, Never, "multicast (RFC 5771)"),
    v4([240, 0, 0, 0], 4, Never, "reserved, broadcast (RFC 1112, RFC 8190)"),
];

/// IPv6: the first that fits. Whatever is not here is global inside 2000::/3, and nothing outside.
const V6: [Range<Ipv6Addr>; 20] = [
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, Never, "unspecified (RFC 4291)"),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, Private, "loopback (RFC 4291)"),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, Never, "IPv4-compatible (RFC 4291)"),
    v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, Inner(0), "IPv4-mapped (RFC 4291)"),
    v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, Inner(0), "NAT64 (RFC 6052)"),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Never, "local NAT64 (RFC 8215)"),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, Never, "discard (RFC 6666)"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Never, "Teredo (RFC 4380)"),
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, Never, "benchmarking (RFC 5180)"),
    v6([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28, Never, "ORCHID (RFC 4843)"),
    v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28, Never, "ORCHIDv2 (RFC 7343)"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Never, "protocol assignments (RFC 2928)"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Never, "documentation (RFC 3849)"),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, Inner(80), "6to4 (RFC 3056)"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Never, "documentation (RFC 9637)"),
    // Unique local addresses too (RFC 4193), but the service there hands out the machine's keys.
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32, Never, "metadata of a cloud (RFC 4193)"),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Private, "unique local (RFC 4193)"),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, Never, "link-local (RFC 4291)"),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Never, "site-local (RFC 3879)"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Never, "multicast (RFC 4291)"),
];

/// Assigned addresses (RFC 4291 section 2.4).
const GLOBAL_V6: Range<Ipv6Addr> =
    v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, Never, "global unicast (RFC 4291)");

/// The block that is not global and has this address.
pub(super) fn special_v4(ip: Ipv4Addr) -> Option<&'static Range<Ipv4Addr>> {
    V4.iter().find(|range| (ip.to_bits() ^ range.base.to_bits()) >> (32 - range.prefix) == 0)
}

/// The block that is not global and has this address.
pub(super) fn special_v6(ip: Ipv6Addr) -> Option<&'static Range<Ipv6Addr>> {
    V6.iter().find(|range| range.has(ip))
}

/// Whether the address is within the range of assigned global addresses.
pub(super) fn is_assigned_v6(ip: Ipv6Addr) -> bool {
    GLOBAL_V6.has(ip)
}

impl Range<Ipv6Addr> {
    const fn has(&self, ip: Ipv6Addr) -> bool {
        (ip.to_bits() ^ self.base.to_bits()) >> (128 - self.prefix) == 0
    }
}

const fn v4(base: [u8; 4], prefix: u32, reach: Reach, name: &'static str) -> Range<Ipv4Addr> {
    let [a, b, c, d] = base;
    Range { base: Ipv4Addr::new(a, b, c, d), prefix, name, reach }
}

const fn v6(base: [u16; 8], prefix: u32, reach: Reach, name: &'static str) -> Range<Ipv6Addr> {
    let [a, b, c, d, e, f, g, h] = base;
    Range { base: Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix, name, reach }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_block_has_bits_beyond_its_prefix() {
        for range in &V4 {
            let beyond = range.base.to_bits().checked_shl(range.prefix).unwrap_or(0);
            assert_eq!(beyond, 0, "{}", range.name);
        }
        for range in &V6 {
            let beyond = range.base.to_bits().checked_shl(range.prefix).unwrap_or(0);
            assert_eq!(beyond, 0, "{}", range.name);
        }
    }

    #[test]
    fn each_block_ends_where_its_neighbour_begins() {
        for range in &V4 {
            let size = 1_u64 << (32 - range.prefix);
            let first = u64::from(range.base.to_bits());
            let found = |bits: u64| {
                let ip = Ipv4Addr::from_bits(u32::try_from(bits).ok()?);
                special_v4(ip).map(|found| found.base)
            };
            assert_eq!(found(first), Some(range.base), "{}", range.name);
            assert_eq!(found(first + size - 1), Some(range.base), "{}", range.name);
            assert_ne!(found(first + size), Some(range.base), "{}", range.name);
            assert_ne!(first.checked_sub(1).and_then(found), Some(range.base), "{}", range.name);
        }
    }

    #[test]
    fn no_block_of_ipv6_is_hidden_by_one_before_it() {
        for range in &V6 {
            let last = Ipv6Addr::from_bits(range.base.to_bits() | mask(range.prefix));
            let names = [range.base, last].map(|ip| special_v6(ip).expect("inside").name);
            assert!(names.contains(&range.name), "{}", range.name);
        }
    }

    fn mask(prefix: u32) -> u128 {
        u128::MAX.checked_shr(prefix).unwrap_or(0)
    }
}
