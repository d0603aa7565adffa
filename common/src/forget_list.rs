//! Hosts and URLs that are to be forgotten.

use crate::config::{BlockEntry, Blocklist};
use crate::url::CrawlUrl;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Hosts and URLs that are to be forgotten, in normal form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgetList {
    hosts: Blocklist,
    urls: BTreeMap<String, CrawlUrl>,
}

impl ForgetList {
    /// Reads hosts, domains such as `*.example.com`, and URLs. With `subdomains`, hosts are domains.
    ///
    /// # Errors
    /// The text that is none of them, with the reason.
    pub fn parse(texts: &[String], subdomains: bool) -> Result<Self, String> {
        let (mut hosts, mut urls) = (Vec::new(), BTreeMap::new());
        for text in texts {
            if text.contains("://") {
                let url = CrawlUrl::parse(text)
                    .map_err(|why| format!("{text:?}: {}", why.description()))?;
                urls.insert(url.as_str().to_owned(), url);
                continue;
            }
            match BlockEntry::from_str(text)? {
                BlockEntry::Network(network)
                    if network.prefix_len() != network.max_prefix_len() =>
                {
                    return Err(format!("{text:?} is a network: write a host, a domain or a URL"));
                }
                BlockEntry::Host(name) if subdomains => hosts.push(BlockEntry::Domain(name)),
                entry => hosts.push(entry),
            }
        }
        Ok(Self { hosts: Blocklist::new(&hosts), urls })
    }

    /// Returns true if the host is to be forgotten.
    #[must_use]
    pub fn has_host(&self, name: &str) -> bool {
        self.hosts.by_name(name).is_some()
    }

    /// Returns true if the URL, or its host, is to be forgotten.
    #[must_use]
    pub fn has_url(&self, url: &str) -> bool {
        self.urls.contains_key(url)
            || (!self.hosts.is_empty()
                && CrawlUrl::parse(url).is_ok_and(|url| self.has_host(url.host())))
    }

    /// Returns the hosts and domains.
    #[must_use]
    pub fn hosts(&self) -> &[BlockEntry] {
        self.hosts.entries()
    }

    /// Returns the URLs.
    pub fn urls(&self) -> impl Iterator<Item = &CrawlUrl> {
        self.urls.values()
    }

    /// Returns all entries as texts that [`Self::parse`] reads.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let hosts = self.hosts().iter().map(ToString::to_string);
        hosts.chain(self.urls.keys().cloned()).collect()
    }

    /// Adds the entries of another list.
    pub fn merge(&mut self, other: Self) {
        let mut hosts = self.hosts.entries().to_vec();
        hosts.extend(other.hosts.entries().iter().cloned());
        hosts.dedup();
        self.hosts = Blocklist::new(&hosts);
        self.urls.extend(other.urls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str], subdomains: bool) -> ForgetList {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        ForgetList::parse(&texts, subdomains).unwrap()
    }

    #[test]
    fn urls_are_matched_in_normal_form_and_hosts_with_all_their_urls() {
        let list = list(&["HTTP://A.example:80/x/../y#z", "b.example", "*.c.example"], false);
        for forgotten in [
            "http://a.example/y",
            "https://b.example/any?x=1",
            "http://b.example:8080/",
            "http://c.example/",
            "http://www.c.example/",
        ] {
            assert!(list.has_url(forgotten), "{forgotten}");
        }
        let kept =
            ["http://a.example/", "http://a.example/y?", "http://www.b.example/", "dns:b.example"];
        for kept in kept {
            assert!(!list.has_url(kept), "{kept}");
        }
        assert_eq!(ForgetList::parse(&list.texts(), false), Ok(list));
    }

    #[test]
    fn with_subdomains_a_host_is_a_domain() {
        assert!(list(&["b.example"], true).has_host("www.b.example"));
        assert!(!list(&["b.example"], true).has_host("ab.example"));
    }

    #[test]
    fn what_is_no_host_and_no_url_is_refused() {
        for text in ["", "a b", "192.0.2.0/24", "ftp://a.example/", "http://", "a.example/x"] {
            assert!(ForgetList::parse(&[text.to_owned()], false).is_err(), "{text}");
        }
        assert!(list(&["192.0.2.7"], false).has_url("http://192.0.2.7/x"));
    }
}
