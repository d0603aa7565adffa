//! Links to licenses (RSL 1.0).

use super::http_url::http_url;

/// Number of licenses that are kept.
const LICENSES_MAX: usize = 4;

/// URLs of the licenses of a page or site, each once, in the order in which they were added.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Licenses(Vec<Box<str>>);

impl Licenses {
    /// Media type of a license in a link.
    pub const MEDIA_TYPE: &str = "application/rsl+xml";

    /// Adds a URL, which is resolved against `base`, or absolute if there is none. Others than those of
    /// HTTP, and more than four, are ignored.
    pub fn add(&mut self, url: &str, base: Option<&url::Url>) {
        if self.0.len() < LICENSES_MAX
            && let Some(url) = http_url(url, base)
            && !self.0.contains(&url)
        {
            self.0.push(url);
        }
    }

    /// Adds those of others.
    pub fn extend(&mut self, others: &Self) {
        for url in &others.0 {
            if self.0.len() < LICENSES_MAX && !self.0.contains(url) {
                self.0.push(url.clone());
            }
        }
    }

    /// Returns the URLs.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|url| &**url)
    }

    /// Returns the size on the heap in bytes, without the allocator's overhead.
    pub fn heap_size(&self) -> usize {
        self.0.iter().map(|url| url.len() + size_of::<Box<str>>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licenses_are_kept_once_and_bounded() {
        let mut licenses = Licenses::default();
        for name in ["a", "b", "a", "c", "d", "e"] {
            licenses.add(&format!("https://a.test/{name}"), None);
        }
        licenses.add("license.xml", None);
        assert!(licenses.iter().eq(["a", "b", "c", "d"].map(|n| format!("https://a.test/{n}"))));
        let mut few = Licenses::default();
        few.add("https://a.test/c", None);
        few.extend(&licenses);
        assert!(few.iter().eq(["c", "a", "b", "d"].map(|n| format!("https://a.test/{n}"))));
    }
}
