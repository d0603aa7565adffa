use super::*;
use crate::config::AssignBy::{Domain, Host};
use proptest::prelude::*;

#[test]
fn the_normal_form_of_urls() {
    for (text, wanted) in [
        ("http://example.com", "http://example.com/"),
        ("  HTTP://EXAMPLE.com:80/A?b#c \n", "http://example.com/A?b"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com:0/", "http://example.com:0/"),
        ("http:example.com/a", "http://example.com/a"),
        ("http:\\\\example.com\\a\\b", "http://example.com/a/b"),
        ("http:////example.com/", "http://example.com/"),
        ("http://@example.com/", "http://example.com/"),
        ("http://:@example.com/", "http://example.com/"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2E/b/%2e", "http://example.com/b/"),
        ("http://example.com/../../x", "http://example.com/x"),
        ("http://example.com//a//", "http://example.com//a//"),
        ("http://exa\tmple.com/a\nb", "http://example.com/ab"),
        ("http://example.com/a b\"<>`{}", "http://example.com/a%20b%22%3C%3E%60%7B%7D"),
        ("http://example.com/?a b\"<>'", "http://example.com/?a%20b%22%3C%3E%27"),
        ("http://example.com/?", "http://example.com/?"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://example.com/?b=2&a=1", "http://example.com/?b=2&a=1"),
        ("http://example.com/é", "http://example.com/%C3%A9"),
        ("http://example.com/%c3%a9?%c3%7e", "http://example.com/%C3%A9?%C3~"),
        ("http://example.com/%41%2f%%32e", "http://example.com/A%2F%%32e"),
        ("http://example.com./", "http://example.com/"),
        ("http://example.com.:8080/x", "http://example.com:8080/x"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://ＥＸＡＭＰＬＥ。com/", "http://example.com/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://%65xample.com/", "http://example.com/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"),
        ("http://127.1./", "http://127.0.0.1/"),
        ("http://１２７.0.0.1/", "http://127.0.0.1/"),
        ("http://[::1]/", "http://[::1]/"),
        ("http://[0:0::0:1]:80/", "http://[::1]/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("http://localhost", "http://localhost/"),
        ("http://a_b.example/", "http://a_b.example/"),
    ] {
        assert_eq!(CrawlUrl::parse(text).map(|u| u.to_string()).as_deref(), Ok(wanted), "{text}");
    }
}

/// Found by fuzzing: such URLs were accepted as they were written, and refused in normal form.
#[test]
fn names_that_become_too_long_in_normal_form_are_rejected() {
    let rejected = Err(Discard::Authority);
    let labels = |n| "m\u{fc}nchen.".repeat(n);
    for (name, wanted) in [
        ("\u{fc}".repeat(57), Ok(())),
        ("\u{fc}".repeat(58), rejected),
        (labels(16), Ok(())),
        (labels(17), rejected),
        (labels(60), rejected),
    ] {
        let (n, text) = (name.len(), format!("http://{name}.test/").replace("..", "."));
        let parsed = CrawlUrl::parse(&text);
        assert_eq!(parsed.as_ref().map(|_| ()).map_err(|error| *error), wanted, "{n}: {parsed:?}");
        let base = url::Url::parse("http://base.test/").unwrap();
        assert_eq!(CrawlUrl::join(&base, &text), parsed);
        if let Ok(url) = parsed {
            assert_eq!(CrawlUrl::parse(url.as_str()), Ok(url));
        }
    }
}

#[test]
fn invalid_urls_are_rejected_with_a_reason() {
    let long = format!("http://example.com/{}", "a".repeat(TEXT_MAX));
    for (text, wanted) in [
        ("", Discard::Unparsable),
        ("example.com/", Discard::Unparsable),
        ("//example.com/", Discard::Unparsable),
        ("http://", Discard::Unparsable),
        ("http:///", Discard::Unparsable),
        ("http://exa mple.com/", Discard::Unparsable),
        ("http://a<b/", Discard::Unparsable),
        ("http://%zz/", Discard::Unparsable),
        ("http://example.com:65536/", Discard::Unparsable),
        ("http://256.0.0.1/", Discard::Unparsable),
        ("http://1.2.3.4.5/", Discard::Unparsable),
        ("http://[::1/", Discard::Unparsable),
        ("http://[::1%25eth0]/", Discard::Unparsable),
        ("http://[www.example.com]/", Discard::Unparsable),
        ("http://xn--a/", Discard::Unparsable),
        ("ftp://example.com/", Discard::Scheme),
        ("mailto:a@example.com", Discard::Scheme),
        ("javascript:void(0)", Discard::Scheme),
        ("data:text/html,x", Discard::Scheme),
        ("http://user@example.com/", Discard::Authority),
        ("http://user:secret@example.com/", Discard::Authority),
        ("http://:secret@example.com/", Discard::Authority),
        ("http://./", Discard::Authority),
        ("http://../", Discard::Authority),
        ("http://a..b/", Discard::Authority),
        ("http://.example.com/", Discard::Authority),
        ("http://example.com../", Discard::Authority),
        ("http://127.0.0.1../", Discard::Authority),
        (long.as_str(), Discard::TooLong),
    ] {
        assert_eq!(CrawlUrl::parse(text), Err(wanted), "{text:.60}");
    }
}

#[test]
fn links_are_resolved_as_in_rfc_3986() {
    let base = url::Url::parse("http://a.example/b/c/d;p?q#f").unwrap();
    for (href, wanted) in [
        // RFC 3986 section 5.4
        ("g", "http://a.example/b/c/g"),
        ("./g", "http://a.example/b/c/g"),
        ("g/", "http://a.example/b/c/g/"),
        ("/g", "http://a.example/g"),
        ("//g", "http://g/"),
        ("?y", "http://a.example/b/c/d;p?y"),
        ("g?y#s", "http://a.example/b/c/g?y"),
        ("#s", "http://a.example/b/c/d;p?q"),
        ("", "http://a.example/b/c/d;p?q"),
        (";x", "http://a.example/b/c/;x"),
        ("..", "http://a.example/b/"),
        ("../../../g", "http://a.example/g"),
        ("g;x=1/../y", "http://a.example/b/c/y"),
        ("g..", "http://a.example/b/c/g.."),
        ("http:g", "http://a.example/b/c/g"),
        ("\\x\\y", "http://a.example/x/y"),
        (" g ", "http://a.example/b/c/g"),
        ("https://B.example:443/x#y", "https://b.example/x"),
        ("http://b.example", "http://b.example/"),
        ("http://b.example?x", "http://b.example/?x"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("g:8", ""),
        ("'", "http://a.example/b/c/'"),
        ("?'", "http://a.example/b/c/d;p?%27"),
    ] {
        let slow = CrawlUrl::join(&base, href);
        let fast = Base::new(&base).join(href);
        assert_eq!(fast, slow, "{href}");
        assert_eq!(slow.map(|u| u.to_string()).unwrap_or_default(), wanted, "{href}");
    }
}

#[test]
fn most_links_take_the_fast_path() {
    let base = url::Url::parse("http://a.example:8080/b/%7ec?q").unwrap();
    let base = Base::new(&base);
    for (href, wanted) in [
        ("/x/y.html?z=1#f", "http://a.example:8080/x/y.html?z=1"),
        ("y.html", "http://a.example:8080/b/y.html"),
        ("https://www.example2.org/x", "https://www.example2.org/x"),
        ("http://b-c.example", "http://b-c.example/"),
    ] {
        assert_eq!(base.join_plain(href).map(|u| u.to_string()).as_deref(), Some(wanted));
    }
}

#[test]
fn ip_literals_are_recognized() {
    for (text, wanted) in [
        ("http://2130706433/", Some("127.0.0.1")),
        ("http://10.0.0.1:8080/", Some("10.0.0.1")),
        ("http://[FE80::1]/", Some("fe80::1")),
        ("http://[::ffff:10.0.0.1]/", Some("::ffff:10.0.0.1")),
        ("http://example.com/", None),
        ("http://host1.example/", None),
        ("http://a1/", None),
    ] {
        let wanted = wanted.map(|ip| ip.parse::<IpAddr>().unwrap());
        assert_eq!(ip_literal(CrawlUrl::parse(text).unwrap().host()), wanted, "{text}");
    }
}

#[test]
fn groups_are_registrable_domains() {
    for (host, wanted) in [
        ("example.com", "example.com"),
        ("www.a.example.com", "example.com"),
        ("www.example.co.uk", "example.co.uk"),
        ("foo.github.io", "foo.github.io"),
        ("a.foo.github.io", "foo.github.io"),
        ("github.io", "github.io"),
        ("bucket.s3.amazonaws.com", "bucket.s3.amazonaws.com"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("a.b.test-tld", "b.test-tld"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("192.168.1.1", "192.168.1.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("www.ck", "www.ck"),
        ("a.b.ck", "a.b.ck"),
    ] {
        assert_eq!(group_name(host, Domain), wanted);
        assert_eq!(group_name(host, Host), host);
    }
}

/// Generates texts that are likely to be unusual links.
fn link() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9]{1,4}",
        2 => Just("/".to_owned()),
        1 => "[-._~!$&()*+,;=:@?#'%|^\\\\\\[\\]`{} \t]",
        1 => "%[0-9a-fA-F]{1,2}",
        1 => prop::sample::select(vec![
            "..", "/../", "/./", "//", "http://", "https://", "http:", "www.", ".com", ".com.",
            "xn--", "%2e", "%%32", "127.1", "0x7f", ":80", ":8080", "[::1]", "é", "。", "\u{ad}",
            "user@", "javascript:", "?a=b&c", "#f", "\u{0}", "\n",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn absolute() -> impl Strategy<Value = String> {
    let scheme = prop::sample::select(vec!["http://", "https://", "http://a.example/", ""]);
    (scheme, link()).prop_map(|(scheme, rest)| format!("{scheme}{rest}"))
}

/// Checks the properties of an accepted URL.
fn holds(url: &CrawlUrl) -> Result<(), TestCaseError> {
    let again = CrawlUrl::parse(url.as_str());
    prop_assert_eq!(again.as_ref(), Ok(url), "normalizing twice changes the URL");
    let rebuilt = CrawlUrl::from_parts(url.origin(), url.host(), url.path_and_query());
    prop_assert_eq!(&rebuilt, url, "splitting and rebuilding changes the URL");
    prop_assert!(url.path().starts_with('/'));
    prop_assert!(!url.host().is_empty() && !url.host().ends_with('.'));
    prop_assert!(url.as_str().bytes().all(|b| b.is_ascii_graphic() && b != b'#'));
    prop_assert!(url.as_str().starts_with(&url.origin().on_host(url.host())));
    let parsed = url::Url::parse(url.as_str()).map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert_eq!(parsed.as_str(), url.as_str(), "the `url` crate disagrees");
    let literal = match parsed.host() {
        Some(url::Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(url::Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        _ => None,
    };
    prop_assert_eq!(ip_literal(url.host()), literal);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_rejected_or_normalized_for_good(text in prop_oneof![absolute(), ".*"]) {
        if let Ok(url) = CrawlUrl::parse(&text) {
            holds(&url)?;
        }
    }

    #[test]
    fn any_link_is_rejected_or_normalized_for_good(base in absolute(), href in absolute()) {
        if let Ok(base) = url::Url::parse(&base) {
            let fast = Base::new(&base).join(&href);
            prop_assert_eq!(&fast, &CrawlUrl::join(&base, &href), "the fast path disagrees");
            if Base::new(&base).join_plain(&href).is_some() {
                prop_assert_eq!(parse_cost(&href), Ok(href.len() as u64), "a copy has another cost");
            }
            if let Ok(url) = fast {
                holds(&url)?;
            }
        }
    }

    #[test]
    fn the_fast_path_gives_the_same_result(
        base in "https?://[a-z]{1,3}(\\.[a-z]{2}){0,2}(:80|:8080)?(/[a-z%]{0,3}){0,3}",
        href in "(https?://[a-z0-9.-]{1,9}[a-z]{0,2})?/?([a-z0-9.]{0,3}[/.?#:=+-]?){0,6}",
    ) {
        if let Ok(base) = url::Url::parse(&base) {
            prop_assert_eq!(Base::new(&base).join(&href), CrawlUrl::join(&base, &href));
            if Base::new(&base).join_plain(&href).is_some() {
                prop_assert_eq!(parse_cost(&href), Ok(href.len() as u64));
            }
        }
    }
}
