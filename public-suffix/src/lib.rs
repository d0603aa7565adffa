//! The public suffix list.
//!
//! The list is code: functions that are generic and marked `inline`, so every crate that calls them,
//! and every codegen unit of it, compiles all of them again. They are half a megabyte and take longer
//! to compile than the rest of `common/`. This crate compiles them once.
#![forbid(unsafe_code)]

/// Returns the registrable domain of a host: the public suffix (with the private section of the list)
/// and one more label. Returns `None` if the host is a public suffix itself. The host must be in
/// normal form.
#[must_use]
#[inline(never)]
pub fn registrable_domain(host: &str) -> Option<&str> {
    psl::domain_str(host)
}

#[cfg(test)]
mod tests {
    use super::registrable_domain;

    #[test]
    fn registrable_domains_are_found() {
        let domain = |host| registrable_domain(host);
        assert_eq!(domain("www.shop.example.co.uk"), Some("example.co.uk"));
        assert_eq!(domain("crivello.github.io"), Some("crivello.github.io"));
        assert_eq!(domain("unlisted.test"), Some("unlisted.test"));
        assert_eq!([domain("co.uk"), domain("github.io")], [None, None]);
    }
}
