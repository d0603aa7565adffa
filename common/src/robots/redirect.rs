//! Redirects of robots.txt: which ones are followed (RFC 9309 section 2.3.1.2).

use crate::config::{Blocklist, Links};
use crate::ports::PortPolicy;
use crate::url::CrawlUrl;

/// Returns true if the redirect of a robots.txt from `from` to `to` is followed.
///
/// On the same host any path is: the host chooses where its file is. On another host only
/// `/robots.txt` is, because that host's own rules apply to every other path, and only if a URL of
/// that host could be within the scope of the crawl and the host is not in `blocked`. Otherwise one
/// site could make the crawler request any page of another one.
#[must_use]
pub fn follows_redirect(
    from: &CrawlUrl,
    to: &CrawlUrl,
    links: &Links,
    blocked: &Blocklist,
    ports: &PortPolicy,
) -> bool {
    match from.host() == to.host() {
        true => ports.admits(to.origin().port),
        false => is_robots_in_scope(to, links, blocked, ports),
    }
}

/// Returns true if `url` may be requested as the robots.txt of its host: its
/// path is `/robots.txt`, a URL of the host could be within the scope of the crawl, and neither the host
/// nor the port is blocked.
#[must_use]
pub fn is_robots_in_scope(
    url: &CrawlUrl,
    links: &Links,
    blocked: &Blocklist,
    ports: &PortPolicy,
) -> bool {
    ports.admits(url.origin().port)
        && url.path_and_query() == "/robots.txt"
        && links.may_include(url.host())
        && blocked.by_name(url.host()).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LinkRule;

    fn rule(host: Option<&str>, path: Option<&str>) -> LinkRule {
        LinkRule {
            host_suffix: host.map(str::to_owned),
            path_prefix: path.map(str::to_owned),
            regex: None,
        }
    }

    fn follows(to: &str, links: &Links) -> bool {
        let from = CrawlUrl::parse("http://www.site.test/robots.txt").unwrap();
        let (to, blocked) = (CrawlUrl::parse(to).unwrap(), Blocklist::new(&links.blocked));
        follows_redirect(&from, &to, links, &blocked, &PortPolicy::default())
    }

    #[test]
    fn another_host_is_asked_for_its_robots_txt_only() {
        let links = Links::default();
        for (to, wanted) in [
            ("https://www.site.test/robots.txt", true),
            ("http://www.site.test/any/path?x=1", true),
            ("http://www.site.test:8080/r.txt", true),
            ("http://site.test/robots.txt", true),
            ("https://victim.test/robots.txt", true),
            ("https://victim.test:8443/robots.txt", true),
            ("http://site.test/robots.txt?x=1", false),
            ("http://victim.test/", false),
            ("http://victim.test/private/delete?id=7", false),
            ("http://victim.test/robots.txt/delete", false),
            ("http://victim.test/Robots.txt", false),
            ("http://victim.test:25/robots.txt", false),
            ("http://www.site.test:25/robots.txt", false),
        ] {
            assert_eq!(follows(to, &links), wanted, "{to}");
        }
    }

    #[test]
    fn a_host_out_of_scope_is_not_asked() {
        let docs =
            Links { include: vec![rule(Some("site.test"), Some("/docs"))], ..Links::default() };
        for (to, wanted) in [
            ("http://docs.site.test/robots.txt", true),
            ("http://www.site.test/x", true),
            ("http://victim.test/robots.txt", false),
        ] {
            assert_eq!(follows(to, &docs), wanted, "{to}");
        }
        let exclude = vec![rule(Some("victim.test"), None), rule(Some("half.test"), Some("/x"))];
        let without = Links { exclude, ..Links::default() };
        assert!(!follows("http://www.victim.test/robots.txt", &without));
        assert!(follows("http://half.test/robots.txt", &without));
        let blocked = vec!["*.victim.test".parse().unwrap()];
        let without = Links { blocked, ..Links::default() };
        assert!(!follows("http://www.victim.test/robots.txt", &without));
        assert!(follows("http://other.test/robots.txt", &without));
    }
}
