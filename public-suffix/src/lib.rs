//! The public suffix list.
//!
//! The list is code: functions that are generic and marked `inline`, so every crate that calls them,
//! and every codegen unit of it, compiles all of them again. They are half a megabyte and take longer
//! to compile than the rest of `common/`. This crate compiles them once.
#![forbid(unsafe_code)]

use psl::Type;

/// Returns the registrable domain of a host: the public suffix (with the private section of the list)
/// and one more label. Returns `None` if the host is a public suffix itself. The host must be in
/// normal form.
#[must_use]
pub fn registrable_domain(host: &str) -> Option<&str> {
    below(host, suffix(host)?.0)
}

/// The public suffixes of a host, and the domains one label below them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostSuffixes<'a> {
    /// Suffix by the section of registries, as `com`.
    pub registry_suffix: &'a str,
    /// One label more than [`Self::registry_suffix`]; `None` if the host has none.
    pub registered_domain: Option<&'a str>,
    /// Suffix by both sections, as `github.io`.
    pub private_suffix: &'a str,
    /// One label more than [`Self::private_suffix`]; `None` if the host has none.
    pub private_domain: Option<&'a str>,
}

/// Returns the suffixes of a host in normal form, which is no IP literal. The last label of a host
/// that no rule matches is its suffix, as the rules of the list say.
#[must_use]
pub fn suffixes(host: &str) -> Option<HostSuffixes<'_>> {
    let (private_suffix, mut section) = suffix(host)?;
    let mut registry_suffix = private_suffix;
    // A rule of the private section has more labels than that of the registry above it.
    while section == Some(Type::Private) {
        let Some((_, above)) = registry_suffix.split_once('.') else { break };
        (registry_suffix, section) = suffix(above)?;
    }
    Some(HostSuffixes {
        registry_suffix,
        registered_domain: below(host, registry_suffix),
        private_suffix,
        private_domain: below(host, private_suffix),
    })
}

/// Returns the public suffix, and the section of its rule.
#[inline(never)]
fn suffix(host: &str) -> Option<(&str, Option<Type>)> {
    let suffix = psl::suffix(host.as_bytes())?;
    str::from_utf8(suffix.trim().as_bytes()).ok().map(|text| (text, suffix.typ()))
}

/// Returns the end of `host` that has one label more than its `suffix`.
fn below<'a>(host: &'a str, suffix: &str) -> Option<&'a str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let above = host.strip_suffix(suffix)?.strip_suffix('.')?;
    let start = above.rfind('.').map_or(0, |dot| dot + 1);
    host.get(start..).filter(|_| !above.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{registrable_domain, suffixes};

    #[test]
    fn registrable_domains_are_found() {
        let domain = |host| registrable_domain(host);
        assert_eq!(domain("www.shop.example.co.uk"), Some("example.co.uk"));
        assert_eq!(domain("crivello.github.io"), Some("crivello.github.io"));
        assert_eq!(domain("unlisted.test"), Some("unlisted.test"));
        assert_eq!([domain("co.uk"), domain("github.io")], [None, None]);
    }

    #[test]
    fn suffixes_of_both_sections_are_found() {
        let all = |host| {
            let found = suffixes(host).expect("a host with labels");
            let domain = |domain: Option<&'static str>| domain.unwrap_or("-");
            [
                found.registry_suffix,
                domain(found.registered_domain),
                found.private_suffix,
                domain(found.private_domain),
            ]
        };
        assert_eq!(all("www.bbc.co.uk"), ["co.uk", "bbc.co.uk", "co.uk", "bbc.co.uk"]);
        assert_eq!(all("a.b.github.io"), ["io", "github.io", "github.io", "b.github.io"]);
        assert_eq!(all("github.io"), ["io", "github.io", "github.io", "-"]);
        assert_eq!(
            all("x.s3.amazonaws.com"),
            ["com", "amazonaws.com", "s3.amazonaws.com", "x.s3.amazonaws.com"]
        );
        assert_eq!(all("com"), ["com", "-", "com", "-"]);
        assert_eq!(all("www.unlisted.test"), ["test", "unlisted.test", "test", "unlisted.test"]);
        // A rule with an exception.
        assert_eq!(all("a.www.ck"), ["ck", "www.ck", "ck", "www.ck"]);
        assert_eq!(all("a.b.other.ck"), ["other.ck", "b.other.ck", "other.ck", "b.other.ck"]);
    }
}
