//! Rewriting of URLs before their identity is computed: different URLs of one page become one.
//!
//! Nothing is rewritten by default: a server may give each part of a URL a meaning.

use super::{CrawlUrl, Scheme};
use crate::config::UrlRewrite;
use crivello_public_suffix::registrable_domain;
use std::borrow::Cow;

/// Query parameters that only track visitors.
const TRACKING: [&str; 29] = [
    "utm_*",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "fbclid",
    "msclkid",
    "yclid",
    "ymclid",
    "twclid",
    "ttclid",
    "igshid",
    "igsh",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "_hsenc",
    "_hsmi",
    "__hstc",
    "__hssc",
    "_openstat",
    "oly_anon_id",
    "oly_enc_id",
    "vero_id",
    "srsltid",
    "zanpid",
    "epik",
];

/// Query parameters, and parameters of a path segment after `;`, that name a session of a visitor.
const SESSIONS: [&str; 11] = [
    "jsessionid",
    "phpsessid",
    "aspsessionid*",
    "sessionid",
    "session_id",
    "sessid",
    "sid",
    "oscsid",
    "zenid",
    "cfid",
    "cftoken",
];

/// Last segments of a path that servers take for the folder itself.
const INDEX_PAGES: [&str; 11] = [
    "index.html",
    "index.htm",
    "index.shtml",
    "index.xhtml",
    "index.php",
    "index.asp",
    "index.aspx",
    "index.jsp",
    "default.asp",
    "default.aspx",
    "default.htm",
];

/// The compiled rewriting of a crawl.
#[derive(Clone, Debug, Default)]
pub struct Rewriter {
    ways: Vec<UrlRewrite>,
    /// Names of query parameters that are dropped, in lower case; `*` stands for any text.
    dropped: Vec<String>,
}

impl Rewriter {
    /// Compiles the settings `links.rewrite` and `links.drop-parameters`; `None` if both are empty.
    #[must_use]
    pub fn compile(ways: &[UrlRewrite], parameters: &[String]) -> Option<Self> {
        let presets = [(UrlRewrite::Tracking, &TRACKING[..]), (UrlRewrite::Sessions, &SESSIONS)];
        let presets = presets.iter().filter(|(way, _)| ways.contains(way));
        let presets = presets.flat_map(|(_, names)| names.iter().map(|&name| name.to_owned()));
        let own = parameters.iter().map(|name| name.to_ascii_lowercase());
        let is_off = ways.is_empty() && parameters.is_empty();
        (!is_off).then(|| Self { ways: ways.to_vec(), dropped: presets.chain(own).collect() })
    }

    /// Returns the number of names that [`Self::rewrite`] compares: each parameter of the URL with each
    /// name that is dropped.
    pub fn cost(&self, url: &CrawlUrl) -> u64 {
        let separators = url.path_and_query().bytes().filter(|byte| b"?&;".contains(byte));
        separators.count() as u64 * self.dropped.len() as u64
    }

    /// Returns the rewritten URL, in normal form. To rewrite it again changes nothing.
    pub fn rewrite(&self, url: CrawlUrl) -> CrawlUrl {
        let mut origin = url.origin();
        if self.has(UrlRewrite::ForceHttps) && origin.port == Scheme::Http.default_port() {
            (origin.scheme, origin.port) = (Scheme::Https, Scheme::Https.default_port());
        }
        let mut host = url.host();
        if self.has(UrlRewrite::StripWww) {
            while let Some(rest) = host.strip_prefix("www.").filter(|rest| is_site(rest)) {
                host = rest;
            }
        }
        let (path, query) = match url.path_and_query().split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (url.path_and_query(), None),
        };
        let query = query.map(|query| self.query(query));
        let query = query.filter(|(query, is_changed)| {
            !query.is_empty() || !(*is_changed || self.has(UrlRewrite::DropEmptyQuery))
        });
        let path = self.path(path, query.is_none());
        let is_same = origin == url.origin()
            && host == url.host()
            && path.len() + query.as_ref().map_or(0, |(query, _)| query.len() + 1)
                == url.path_and_query().len()
            && url.path_and_query().starts_with(&*path)
            && query.as_ref().is_none_or(|(query, _)| url.path_and_query().ends_with(&**query));
        if is_same {
            return url;
        }
        let mut rest = path.into_owned();
        if let Some((query, _)) = &query {
            rest.push('?');
            rest.push_str(query);
        }
        CrawlUrl::from_parts(origin, host, &rest)
    }

    fn has(&self, way: UrlRewrite) -> bool {
        self.ways.contains(&way)
    }

    /// Returns the query, and true if parameters were dropped.
    fn query<'q>(&self, query: &'q str) -> (Cow<'q, str>, bool) {
        let drops = |part: &&str| {
            let name = part.split_once('=').map_or(*part, |(name, _)| name).to_ascii_lowercase();
            self.dropped.iter().any(|pattern| matches(pattern, &name))
        };
        let n_dropped = query.split('&').filter(drops).count();
        let sorts = self.has(UrlRewrite::SortQuery);
        if n_dropped == 0 && !sorts {
            return (Cow::Borrowed(query), false);
        }
        let mut kept: Vec<&str> = query.split('&').filter(|part| !drops(part)).collect();
        if sorts {
            kept.sort_unstable();
        }
        (Cow::Owned(kept.join("&")), n_dropped > 0)
    }

    /// Returns the path. The name of an index page is dropped only if there is no query.
    fn path<'p>(&self, path: &'p str, no_query: bool) -> Cow<'p, str> {
        let mut path = Cow::Borrowed(path);
        if self.has(UrlRewrite::Sessions) && path.contains(';') {
            let segments: Vec<Cow<'_, str>> = path.split('/').map(without_session).collect();
            path = Cow::Owned(segments.join("/"));
        }
        if self.has(UrlRewrite::CollapseSlashes) && path.contains("//") {
            let segments: Vec<&str> = path.split('/').skip(1).collect();
            let last = segments.len() - 1;
            let kept = segments.iter().enumerate().filter(|(n, s)| *n == last || !s.is_empty());
            path = Cow::Owned(kept.map(|(_, segment)| format!("/{segment}")).collect());
        }
        if self.has(UrlRewrite::IndexPages) && no_query {
            let start = path.rfind('/').map_or(0, |slash| slash + 1);
            let name = path[start..].to_ascii_lowercase();
            if INDEX_PAGES.contains(&name.as_str()) {
                path = Cow::Owned(path[..start].to_owned());
            }
        }
        path
    }
}

/// Returns true if a host has a registrable domain, so that it may be the whole name of a site.
fn is_site(host: &str) -> bool {
    registrable_domain(host).is_some()
}

/// Returns a path segment without its session parameters. A segment that would then be `.` or `..`
/// is left as it is.
fn without_session(segment: &str) -> Cow<'_, str> {
    let Some((name, parameters)) = segment.split_once(';') else { return Cow::Borrowed(segment) };
    let is_session = |parameter: &&str| {
        let name = parameter.split_once('=').map_or(*parameter, |(name, _)| name);
        let name = name.to_ascii_lowercase();
        SESSIONS.iter().any(|pattern| matches(pattern, &name))
    };
    let kept = parameters.split(';').filter(|parameter| !is_session(parameter));
    let kept: String = kept.map(|parameter| format!(";{parameter}")).collect();
    match kept.is_empty() && matches!(name, "." | "..") {
        true => Cow::Borrowed(segment),
        false => Cow::Owned(format!("{name}{kept}")),
    }
}

/// Returns true if `text` has the form of `pattern`, where each `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rewritten(ways: &[UrlRewrite], parameters: &[&str], url: &str) -> String {
        let parameters: Vec<String> = parameters.iter().map(|&name| name.to_owned()).collect();
        let url = CrawlUrl::parse(url).unwrap();
        match Rewriter::compile(ways, &parameters) {
            Some(rewriter) => rewriter.rewrite(url).to_string(),
            None => url.to_string(),
        }
    }

    #[test]
    fn each_way_does_what_it_says() {
        use UrlRewrite::{
            CollapseSlashes, DropEmptyQuery, ForceHttps, IndexPages, Sessions, SortQuery, StripWww,
            Tracking,
        };
        for (way, from, to) in [
            (
                Tracking,
                "http://a.example/?utm_source=x&id=1&UTM_medium=y",
                "http://a.example/?id=1",
            ),
            (Tracking, "http://a.example/p?fbclid=1", "http://a.example/p"),
            (Tracking, "http://a.example/p?utmost=1", "http://a.example/p?utmost=1"),
            (Sessions, "http://a.example/p;jsessionid=1?sid=2&x=3", "http://a.example/p?x=3"),
            (Sessions, "http://a.example/p;v=1;JSESSIONID=2/q", "http://a.example/p;v=1/q"),
            (Sessions, "http://a.example/..;sid=1/q", "http://a.example/..;sid=1/q"),
            (Sessions, "http://a.example/?ASPSESSIONIDQQ=1", "http://a.example/"),
            (Sessions, "http://a.example/?side=1", "http://a.example/?side=1"),
            (SortQuery, "http://a.example/?b=2&a=1&b=1", "http://a.example/?a=1&b=1&b=2"),
            (DropEmptyQuery, "http://a.example/p?", "http://a.example/p"),
            (DropEmptyQuery, "http://a.example/p?x", "http://a.example/p?x"),
            (CollapseSlashes, "http://a.example//p///q//", "http://a.example/p/q/"),
            (CollapseSlashes, "http://a.example//?u=http://b", "http://a.example/?u=http://b"),
            (StripWww, "http://www.a.example:81/p", "http://a.example:81/p"),
            (StripWww, "http://www.co.uk/", "http://www.co.uk/"),
            (StripWww, "http://www.com/", "http://www.com/"),
            (ForceHttps, "http://a.example/p", "https://a.example/p"),
            (ForceHttps, "http://a.example:81/p", "http://a.example:81/p"),
            (IndexPages, "http://a.example/p/Index.html", "http://a.example/p/"),
            (IndexPages, "http://a.example/index.php?id=1", "http://a.example/index.php?id=1"),
            (IndexPages, "http://a.example/my-index.html", "http://a.example/my-index.html"),
        ] {
            assert_eq!(rewritten(&[way], &[], from), to, "{way:?}");
            assert_eq!(rewritten(&[], &[], from), CrawlUrl::parse(from).unwrap().to_string());
        }
        let both = [IndexPages, Tracking];
        let url = "http://a.example/index.html?utm_id=1";
        assert_eq!(rewritten(&both, &[], url), "http://a.example/");
    }

    #[test]
    fn parameters_are_dropped_by_name_or_pattern() {
        for (pattern, from, to) in [
            ("ref", "/?ref=1&reference=2", "/?reference=2"),
            ("ref*", "/?ref=1&reference=2&x", "/?x"),
            ("*_id", "/?my_id=1&id=2", "/?id=2"),
            ("a*b*c", "/?axbyc=1&abc=2&acb=3", "/?acb=3"),
            ("*", "/?a&b=1", "/"),
        ] {
            let [from, to] = [from, to].map(|rest| format!("http://a.example{rest}"));
            assert_eq!(rewritten(&[], &[pattern], &from), to, "{pattern}");
        }
    }

    proptest! {
        /// Scope, block lists and identity see a URL in normal form, the same for whoever rewrites it.
        #[test]
        fn the_result_is_in_normal_form_and_is_not_rewritten_again(
            ways in proptest::sample::subsequence(&UrlRewrite::ALL[..], 0..=UrlRewrite::ALL.len()),
            host in "(www\\.){0,2}[a-c]\\.(example|co\\.uk)",
            path in "(/|//|;sid=1|\\.\\.|\\.|index\\.html|[a-c%;]|%2[eEfF]){0,8}",
            query in "(\\?|&|=|sid|utm_a|[a-c%]){0,8}",
        ) {
            let Ok(url) = CrawlUrl::parse(&format!("http://{host}/{path}{query}")) else {
                return Ok(());
            };
            let Some(rewriter) = Rewriter::compile(&ways, &["b*".to_owned()]) else { return Ok(()) };
            let once = rewriter.rewrite(url);
            prop_assert_eq!(&CrawlUrl::parse(once.as_str()).unwrap(), &once);
            prop_assert_eq!(&rewriter.rewrite(once.clone()), &once);
        }
    }
}
