//! Tests that the keys equal those that replay tools compute for look-ups.

use crate::surt;
use crivello_common::url::CrawlUrl;

/// URLs and their keys as computed by the `surt` package (0.3.1), which pywb uses.
const KEYS: &[(&str, &str)] = &[
    ("http://example.com/", "com,example)/"),
    ("https://www.example.com/", "com,example)/"),
    ("http://www2.example.com/a/", "com,example)/a"),
    ("http://example.com:8080/A/B/?Q=1", "com,example:8080)/a/b?q=1"),
    ("http://www.com/", "com)/"),
    ("http://192.168.0.1/x", "1,0,168,192)/x"),
    ("http://[::1]/x", "::1)/x"),
    ("http://[2001:db8::1]:81/x", "2001:db8::1:81)/x"),
    ("http://example.com/a//b///c/", "com,example)/a/b/c"),
    ("http://example.com/?", "com,example)/"),
    ("http://example.com/p?b=2&a=1&a=&a&c", "com,example)/p?a&a=&a=1&b=2&c"),
    ("http://example.com/p?b&", "com,example)/p?&b"),
    ("http://example.com/%7Efoo/%2525/%C3%A9", "com,example)/~foo/%25/%c3%a9"),
    ("http://example.com/a%20b?x=%26y%3d1", "com,example)/a%20b?x=&y=1"),
    ("http://example.com/a%3Fb", "com,example)/a?b"),
    ("http://example.com/x?PHPSESSID=0123456789abcdef0123456789abcdef&u=1", "com,example)/x?u=1"),
    ("http://example.com/x?u=1&mysid=0123456789abcdef0123456789abcdef", "com,example)/x?my&u=1"),
    ("http://example.com/x?jsessionid=0123456789ABCDEF0123456789abcdef", "com,example)/x"),
    ("http://example.com/x?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&z", "com,example)/x?z"),
    ("http://example.com/x?a=b&cfid=12&cftoken=34&d=e", "com,example)/x?a=b&d=e"),
    (
        "http://example.com/(A(abcdefghijklmnopqrstuvwx)B(abcdefghijklmnopqrstuvwx))/foo.aspx",
        "com,example)/foo.aspx",
    ),
    ("http://example.com/d/(abcdefghijklmnopqrstuvwx)/Foo.ASPX?x", "com,example)/d/foo.aspx?x"),
    ("http://xn--mnchen-3ya.de/", "de,xn--mnchen-3ya)/"),
    ("http://example.com/%252e%252e/a", "com,example)/../a"),
    ("http://example.com/a/%252e%252e/%252e%252e/b/%252e", "com,example)/../b"),
    ("http://example.com/a%2F%2Fb", "com,example)/a/b"),
    ("http://example.com/%", "com,example)/%25"),
    ("http://example.com/%zz%4", "com,example)/%25zz%254"),
    ("http://example.com/%23frag?%23q", "com,example)/%23frag?%23q"),
    ("http://example.com/a;b=c", "com,example)/a;b=c"),
    ("http://example.com/?=", "com,example)/?="),
    ("http://example.com/?a=b=c&a=b", "com,example)/?a=b&a=b=c"),
    ("http://www123.www.example.co.uk/", "uk,co,example,www)/"),
    ("http://example.com/%0A%0D", "com,example)/%0a%0d"),
    ("http://wwwx.example.com/", "com,example,wwwx)/"),
    ("http://example.com/?sid=0123456789abcdef0123456789abcdef", "com,example)/"),
    ("http://example.com/a/b/%252e%252e/", "com,example)/a"),
    ("http://example.com/?q=%E2%82%AC&Q=+x", "com,example)/?q=%e2%82%ac&q=+x"),
    ("http://example.com/a|b`c", "com,example)/a|b`c"),
];

#[test]
fn keys_are_those_of_the_reference() {
    for (url, key) in KEYS {
        assert_eq!(surt(&CrawlUrl::parse(url).unwrap()), *key, "{url}");
    }
}

#[test]
fn keys_are_one_word_of_ascii_whatever_the_url() {
    proptest::proptest!(|(rest in "\\PC{0,60}")| {
        if let Ok(url) = CrawlUrl::parse(&format!("http://example.com/{rest}")) {
            let key = surt(&url);
            assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key:?}");
            assert!(key.starts_with("com,example)/"), "{key:?}");
        }
    });
}
