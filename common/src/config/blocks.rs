//! Blocked hosts (`links.blocked`) and paused hosts (`politeness.paused`).

use super::names;
use super::value::{TomlValue, Value, ValueError, quote};
use ipnet::IpNet;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

/// A host name in normal form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An entry of `links.blocked`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BlockEntry {
    /// One host.
    Host(String),
    /// A domain: this host and all hosts below it.
    Domain(String),
    /// All hosts with an address in this network.
    Network(IpNet),
}

impl fmt::Display for BlockEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) => f.write_str(name),
            Self::Domain(name) => write!(f, "*.{name}"),
            Self::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                write!(f, "{}", network.addr())
            }
            Self::Network(network) => write!(f, "{network}"),
        }
    }
}

impl std::str::FromStr for BlockEntry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong =
            || format!("{text:?} is not a host, domain or network; write {}", Self::expected());
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Network(address.to_canonical().into()));
        }
        if let Ok(network) = text.parse::<IpNet>() {
            return Ok(Self::Network(network.trunc()));
        }
        if text.contains('/') {
            return Err(wrong());
        }
        let below = text.strip_prefix("*.").or_else(|| text.strip_prefix('.'));
        let name = names::host(below.unwrap_or(text)).map_err(|_| wrong())?;
        if name.contains('*') {
            return Err(wrong());
        }
        // The parser also accepts other notations of an address, such as a single number.
        match (name.parse::<IpAddr>(), below) {
            (Ok(address), None) => Ok(Self::Network(address.into())),
            (Ok(_), Some(_)) => Err(wrong()),
            (Err(_), None) => Ok(Self::Host(name)),
            (Err(_), Some(_)) => Ok(Self::Domain(name)),
        }
    }
}

impl Value for BlockEntry {
    fn expected() -> String {
        "a host such as \"www.example.com\", a domain such as \"*.example.com\", or a network such \
         as \"192.0.2.0/24\""
            .to_owned()
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        let text = value.get_ref().as_str().ok_or_else(|| ValueError::mismatch::<Self>(value))?;
        text.parse().map_err(|text: String| ValueError::of(value, text))
    }

    fn write(&self) -> String {
        quote(&self.to_string())
    }

    #[cfg(test)]
    fn draw(draw: &mut super::tests::Draw) -> Self {
        let texts = ["a.example", "*.example.com", "192.0.2.0/24", "10.1.2.3", "2001:db8::/32"];
        draw.one_of(&texts).parse().unwrap()
    }
}

impl Value for HostName {
    fn expected() -> String {
        "a host such as \"www.example.com\"".to_owned()
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        let text = value.get_ref().as_str().ok_or_else(|| ValueError::mismatch::<Self>(value))?;
        names::host(text).map(Self).map_err(|text| ValueError::of(value, text))
    }

    fn write(&self) -> String {
        quote(&self.0)
    }

    #[cfg(test)]
    fn draw(draw: &mut super::tests::Draw) -> Self {
        Self(draw.one_of(&["a.example", "www.example.com", "127.0.0.1", "[::1]"]).to_owned())
    }
}

/// Indexed entries of `links.blocked`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocklist {
    entries: Vec<BlockEntry>,
    hosts: HashMap<String, usize>,
    domains: HashMap<String, usize>,
    networks: Vec<(IpNet, usize)>,
}

impl Blocklist {
    /// Indexes `entries`.
    #[must_use]
    pub fn new(entries: &[BlockEntry]) -> Self {
        let mut list = Self { entries: entries.to_vec(), ..Self::default() };
        for (i, entry) in entries.iter().enumerate() {
            match entry {
                BlockEntry::Host(name) => drop(list.hosts.insert(name.clone(), i)),
                BlockEntry::Domain(name) => drop(list.domains.insert(name.clone(), i)),
                BlockEntry::Network(network) => list.networks.push((*network, i)),
            }
        }
        list
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[BlockEntry] {
        &self.entries
    }

    /// Returns true if there are no entries.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the entry that blocks a host name in normal form: the host itself, otherwise the
    /// longest domain, or for an IP literal the smallest network.
    pub fn by_name(&self, host: &str) -> Option<&BlockEntry> {
        if self.entries.is_empty() {
            return None;
        }
        let mut found = self.hosts.get(host).copied();
        let mut rest = Some(host);
        while let (None, Some(name)) = (found, rest) {
            found = self.domains.get(name).copied();
            rest = name.split_once('.').map(|(_, rest)| rest);
        }
        if found.is_none() && !self.networks.is_empty() {
            let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let address = bare.unwrap_or(host).parse::<IpAddr>().ok();
            return address.and_then(|address| self.by_address(address));
        }
        found.and_then(|i| self.entries.get(i))
    }

    /// Returns the entry that blocks an address: the smallest network that contains it.
    pub fn by_address(&self, address: IpAddr) -> Option<&BlockEntry> {
        let address = address.to_canonical();
        let matching = self.networks.iter().filter(|(network, _)| network.contains(&address));
        let (_, i) = matching.max_by_key(|(network, _)| network.prefix_len())?;
        self.entries.get(*i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Blocklist {
        Blocklist::new(&entries.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn entries_have_one_normal_form() {
        for (typed, written) in [
            ("Example.COM.", "example.com"),
            (" *.example.com", "*.example.com"),
            (".example.com", "*.example.com"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("192.0.2.7", "192.0.2.7"),
            ("192.0.2.7/32", "192.0.2.7"),
            ("192.0.2.7/24", "192.0.2.0/24"),
            ("0x7f.1", "127.0.0.1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8::1/32", "2001:db8::/32"),
        ] {
            let block: BlockEntry = typed.parse().unwrap();
            assert_eq!(block.to_string(), written, "{typed}");
            assert_eq!(written.parse::<BlockEntry>(), Ok(block), "{written}");
        }
        for bad in ["", "*", "*.", "a b", "example.com/x", "10.0.0.0/33", "*.10.0.0.1", "a..b"] {
            let error = bad.parse::<BlockEntry>().unwrap_err();
            assert!(error.contains("write a host such as"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_host_is_blocked_by_its_name_its_domain_or_its_address() {
        let list = list(&["a.example", "*.b.example", "*.x.b.example", "192.0.2.0/24", "10.1.2.3"]);
        let by = |host| list.by_name(host).map(ToString::to_string);
        assert_eq!(by("a.example").as_deref(), Some("a.example"));
        assert_eq!(by("www.a.example"), None);
        assert_eq!(by("b.example").as_deref(), Some("*.b.example"));
        assert_eq!(by("www.b.example").as_deref(), Some("*.b.example"));
        assert_eq!(by("y.x.b.example").as_deref(), Some("*.x.b.example"));
        assert_eq!(by("bb.example"), None);
        assert_eq!(by("192.0.2.9").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(by("192.0.3.9"), None);
        let at = |text: &str| list.by_address(text.parse().unwrap()).map(ToString::to_string);
        assert_eq!(at("10.1.2.3").as_deref(), Some("10.1.2.3"));
        assert_eq!(at("::ffff:192.0.2.1").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(at("10.1.2.4"), None);
        assert_eq!(Blocklist::default().by_name("a.example"), None);
    }
}
