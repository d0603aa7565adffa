//! Identity of groups, hosts, URLs and payloads: hashes under the secret key of the crawl.
//!
//! Whoever can compute a hash can look for two texts with the same one: a second URL with the hash
//! of a page would be taken for that page, which would then never be fetched. So each crawl draws a
//! key of its own, and all hashes that decide whether two things are the same are keyed: SipHash-1-3
//! (Aumasson and Bernstein 2012), and HighwayHash for payloads, with a subkey for each kind of thing.
//!
//! The key is kept in the file [`IDENTITY_KEY_FILE`] of the coordinator's directory and of each
//! agent's ([`IdentityKey::read`]). All of them are equal, so each replaces a lost one:
//!
//! ```text
//! crivello identity key 1
//! crawl CRAWL-ID
//! key 32 hexadecimal digits
//! check 32 hexadecimal digits, computed from the key and the crawl's id
//! ```

#[cfg(test)]
mod tests;

use crate::config::AssignBy;
use crate::hash::{ContentDigest, GroupHash, HostHash, HostKey, UrlHash};
use crate::url::{CrawlUrl, group_name};
use data_encoding::HEXLOWER;
use highway::{HighwayHash as _, HighwayHasher};
use siphasher::{sip::SipHasher13, sip128};
use std::fmt;
use std::io;
use std::net::IpAddr;
use subtle::ConstantTimeEq;

/// Name of the key's file in the directory of a coordinator or an agent.
pub const IDENTITY_KEY_FILE: &str = "identity.key";
/// First line of the file: its format and version.
const MAGIC: &str = "crivello identity key 1";
/// Length of a key and of a check in bytes.
const LEN: usize = 16;

/// The secret key of a crawl. It has no `Display`, and neither `Debug` nor any error shows it.
#[derive(Clone, Copy)]
pub struct IdentityKey([u8; LEN]);

/// Proof that a node has the key of a crawl. The key cannot be computed from it.
pub type IdentityCheck = [u8; LEN];

/// Takes a time that does not depend on the keys.
impl PartialEq for IdentityKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for IdentityKey {}

/// Hides the secret.
impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityKey")
    }
}

impl IdentityKey {
    /// Draws the key of a new crawl.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn draw() -> io::Result<Self> {
        let mut bytes = [0; LEN];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes))
    }

    /// Creates the key from the output of [`Self::to_bytes`].
    #[must_use]
    pub const fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the secret, to be sent to a member of the crawl.
    pub const fn to_bytes(self) -> [u8; LEN] {
        self.0
    }

    /// Returns the proof that a node has this key of the crawl with this id.
    pub fn check(self, crawl_id: &str) -> IdentityCheck {
        sip128::SipHasher13::new_with_key(&self.subkey("check"))
            .hash(crawl_id.as_bytes())
            .as_bytes()
    }

    /// Returns the content of the key's file.
    pub(crate) fn text(self, crawl_id: &str) -> String {
        let (key, check) = (HEXLOWER.encode(&self.0), HEXLOWER.encode(&self.check(crawl_id)));
        format!("{MAGIC}\ncrawl {crawl_id}\nkey {key}\ncheck {check}\n")
    }

    /// Derives the key for one kind of hash, so that hashes of different kinds have nothing to do
    /// with each other.
    fn subkey(self, kind: &str) -> [u8; LEN] {
        sip128::SipHasher24::new_with_key(&self.0).hash(kind.as_bytes()).as_bytes()
    }

    fn content_key(self) -> highway::Key {
        let [(a, b), (c, d)] = ["content", "content, second half"].map(|kind| self.keys_of(kind));
        highway::Key([a, b, c, d])
    }

    fn keys_of(self, kind: &str) -> SubKey {
        SipHasher13::new_with_key(&self.subkey(kind)).keys()
    }
}

/// Reads a text of [`IdentityKey::text`]: the key, and the crawl's id.
pub(crate) fn parse(text: &str) -> Option<(IdentityKey, &str)> {
    let rest = text.strip_prefix(MAGIC)?.strip_prefix("\ncrawl ")?;
    let (crawl_id, rest) = rest.split_once("\nkey ")?;
    let (key, _) = rest.split_once('\n')?;
    let key = IdentityKey(HEXLOWER.decode(key.as_bytes()).ok()?.try_into().ok()?);
    // The check in the text covers everything else.
    bool::from(key.text(crawl_id).as_bytes().ct_eq(text.as_bytes())).then_some((key, crawl_id))
}

/// The two halves of a SipHash key.
type SubKey = (u64, u64);

/// Computes the hashes of one crawl: its key, and its unit of groups.
#[derive(Clone, Copy)]
pub struct KeyedHasher {
    group: SubKey,
    host: SubKey,
    url: SubKey,
    address: SubKey,
    content: highway::Key,
    assign_by: AssignBy,
}

/// Hides the secret.
impl fmt::Debug for KeyedHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyedHasher")
    }
}

fn hash(key: SubKey, bytes: &[u8]) -> u64 {
    SipHasher13::new_with_keys(key.0, key.1).hash(bytes)
}

impl KeyedHasher {
    /// Creates the hasher of a crawl with this key, whose groups are domains or hosts.
    #[must_use]
    pub fn new(key: IdentityKey, assign_by: AssignBy) -> Self {
        Self {
            group: key.keys_of("group"),
            host: key.keys_of("host"),
            url: key.keys_of("url"),
            address: key.keys_of("address"),
            content: key.content_key(),
            assign_by,
        }
    }

    /// Creates a hasher with a key that everybody knows, whose groups are domains: for tests,
    /// benchmarks, and requests outside a crawl.
    #[must_use]
    pub fn with_public_key() -> Self {
        Self::new(IdentityKey([7; LEN]), AssignBy::Domain)
    }

    /// Returns the hash of a host's group. The host must be in normal form.
    pub fn group(&self, host: &str) -> GroupHash {
        GroupHash(hash(self.group, group_name(host, self.assign_by).as_bytes()))
    }

    /// Returns the hash of a host name in normal form.
    pub fn host(&self, host: &str) -> HostHash {
        HostHash(hash(self.host, host.as_bytes()))
    }

    /// Returns the key of a host in normal form.
    pub fn host_key(&self, host: &str) -> HostKey {
        HostKey { group: self.group(host), host: self.host(host) }
    }

    /// Returns the hash of a URL.
    pub fn url(&self, url: &CrawlUrl) -> UrlHash {
        UrlHash(hash(self.url, url.as_str().as_bytes()))
    }

    /// Returns the hash by which an IP address is assigned to the agent that grants its leases. It
    /// is no group's hash, except by chance.
    pub fn address(&self, address: IpAddr) -> GroupHash {
        GroupHash(match address {
            IpAddr::V4(address) => hash(self.address, &address.octets()),
            IpAddr::V6(address) => hash(self.address, &address.octets()),
        })
    }

    /// Returns the hash of a payload: HighwayHash (Alakuijala, Cox and Wassenberg 2016) of 128 bits.
    pub fn content(&self, payload: &[u8]) -> ContentDigest {
        let [low, high] = HighwayHasher::new(self.content).hash128(payload);
        (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
    }
}
