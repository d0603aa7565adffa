//! Validation and normalization of texts in settings.

use crate::url::{CrawlUrl, has_labels};

/// Checks contact information for the comment of the `User-Agent` header: a URL or e-mail address.
pub(super) fn contact(text: &str) -> Result<(), String> {
    const WRITE: &str = "write a URL (\"https://example.com/crawler\") or an e-mail address \
                         (\"you@example.com\")";
    if text.is_empty() {
        return Err(format!(
            "missing, and required for any crawl: the owners of the sites visited must be able to \
             reach you; {WRITE}"
        ));
    }
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    let reachable = if is_url { CrawlUrl::parse(text).is_ok() } else { is_mail_address(text) };
    if !reachable {
        return Err(format!("{text:?} is neither a URL nor an e-mail address; {WRITE}"));
    }
    let odd = |c: char| !c.is_ascii_graphic() || "()<>\\\"".contains(c);
    match text.chars().find(|&c| odd(c)) {
        None => Ok(()),
        Some(c) => Err(format!("{c:?} is not possible in the user agent; escape or remove it")),
    }
}

/// Returns true if `text` is an e-mail address: a dot-atom (RFC 5322 section 3.4.1) at a host name
/// with a dot.
fn is_mail_address(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else {
        return false;
    };
    let atom = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    local.split('.').all(|part| !part.is_empty() && part.chars().all(atom))
        && host.contains('.')
        && matches!(url::Host::parse(host), Ok(url::Host::Domain(name)) if has_labels(&name))
}

/// Checks that `text` is a product token, the name of a crawler in robots.txt (RFC 9309 section
/// 2.2.1).
///
/// # Errors
/// Returns the problem and a valid form.
pub fn product_token(text: &str) -> Result<(), String> {
    let fits = text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'_');
    if fits && (1..=64).contains(&text.len()) {
        return Ok(());
    }
    Err(format!(
        "{text:?} is not a product token: RFC 9309 allows letters, '-' and '_' (no digits, no \
         version); at most 64 characters; write one such as \"crivello\""
    ))
}

/// Parses the URL of a directory of keys, or of the origin that has one at the well-known path.
///
/// # Errors
/// Returns the problem and a valid form.
pub fn directory_url(text: &str) -> Result<url::Url, String> {
    let fits = |url: &url::Url| {
        let is_bare = url.query().is_none() && url.fragment().is_none();
        url.scheme() == "https" && is_bare && url.username().is_empty() && url.password().is_none()
    };
    url::Url::parse(text).ok().filter(fits).ok_or_else(|| {
        format!(
            "{text:?} is not an https URL without query, fragment and user; write one such as \
             \"https://bot.example.com\""
        )
    })
}

/// Checks that a text is empty or the URL of a directory of keys.
pub(super) fn directory(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { directory_url(text).map(drop) }
}

/// Checks that a text is empty or the URL of a webhook.
pub(super) fn webhook(text: &str) -> Result<(), String> {
    let fits = |url: url::Url| {
        let has_user = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "http" | "https") && !has_user
    };
    let problem = || {
        let write =
            "write one such as \"https://example.com/hook\"; a password does not belong there";
        format!("{text:?} is not an http or https URL without a user; {write}")
    };
    (text.is_empty() || url::Url::parse(text).is_ok_and(fits)).then_some(()).ok_or_else(problem)
}

/// Checks names of files.
pub(super) fn files(names: &[String]) -> Result<(), String> {
    /// Maximum number of names: all are looked at when a crawl starts.
    const NAMES_MAX: usize = 100_000;
    if names.len() > NAMES_MAX {
        return Err(format!("{} files; write at most {NAMES_MAX}", names.len()));
    }
    match names.iter().any(String::is_empty) {
        true => Err("a name of a file is empty".to_owned()),
        false => Ok(()),
    }
}

/// Parses the address of a store for archive files.
///
/// # Errors
/// Returns the problem and a valid form.
pub fn upload_url(text: &str) -> Result<url::Url, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._=-".contains(c);
    let is_name = |part: &str| !part.is_empty() && part.chars().all(is_plain) && part != "..";
    let fits = |url: &url::Url| match url.scheme() {
        "file" => url.host_str().is_none() && url.to_file_path().is_ok(),
        "s3" => {
            let prefix = url.path().trim_matches('/');
            let is_bare = url.username().is_empty() && url.password().is_none();
            let is_bucket = url.host_str().is_some_and(is_name) && url.port().is_none();
            is_bare && is_bucket && (prefix.is_empty() || prefix.split('/').all(is_name))
        }
        _ => false,
    } && url.query().is_none() && url.fragment().is_none();
    url::Url::parse(text).ok().filter(fits).ok_or_else(|| {
        format!(
            "{text:?} is not an address of a store; write one such as \"s3://bucket/prefix\", with letters, digits \
             and any of . _ = - in the prefix, or \"file:///mnt/archive\"; credentials do not belong there"
        )
    })
}

/// Checks that a text is empty or the address of a store for archive files.
pub(super) fn upload(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { upload_url(text).map(drop) }
}

/// Checks that a text is empty or the address of an S3 service.
pub(super) fn upload_endpoint(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    webhook(text).map_err(|_| {
        format!(
            "{text:?} is not an http or https URL without a user; write one such as \"https://s3.example.com\""
        )
    })
}

/// Checks that a text is the name of a region.
pub(super) fn region(text: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = (1..=64).contains(&text.len()) && text.chars().all(fits);
    is_name.then_some(()).ok_or_else(|| {
        format!("{text:?} is not the name of a region; write one such as \"eu-central-1\"")
    })
}

/// Checks names of query parameters, or patterns of them.
pub(super) fn parameters(names: &[String]) -> Result<(), String> {
    /// Maximum number of names: each is compared with each parameter of each link.
    const NAMES_MAX: usize = 100;
    if names.len() > NAMES_MAX {
        return Err(format!("{} entries; write at most {NAMES_MAX}", names.len()));
    }
    let fits = |name: &String| {
        let is_name = |b: u8| b.is_ascii_graphic() && !b"&=#?".contains(&b);
        (1..=100).contains(&name.len()) && name.bytes().all(is_name)
    };
    match names.iter().position(|name| !fits(name)) {
        None => Ok(()),
        Some(n) => Err(format!(
            "entry {}: {:?} is not the name of a parameter; write one such as \"ref\" or \"ref_*\"",
            n + 1,
            names[n]
        )),
    }
}

/// Checks that `text` is the value of a header, in visible ASCII.
pub(super) fn header_value(text: &str) -> Result<(), String> {
    let fits = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ') && text.trim() == text;
    let problem = || format!("{text:?} is not a valid header value; write \"en, fr;q=0.5\"");
    fits.then_some(()).ok_or_else(problem)
}

/// Normalizes a host name or address.
pub(super) fn host(text: &str) -> Result<String, String> {
    let trimmed = text.trim();
    let name = url::Host::parse(trimmed.strip_suffix('.').unwrap_or(trimmed));
    let name = name.ok().map(|host| host.to_string()).filter(|name| has_labels(name));
    let problem = || format!("{text:?} is not a host name; write one such as \"www.example.com\"");
    name.ok_or_else(problem)
}

/// Normalizes a host suffix: `*.example.com` and `.example.com` become `example.com`.
pub(super) fn suffix(text: &str) -> Result<String, String> {
    let trimmed = text.trim();
    let bare = trimmed.strip_prefix("*.").or_else(|| trimmed.strip_prefix('.'));
    host(bare.unwrap_or(trimmed))
        .map_err(|_| format!("{text:?} is not a host suffix; write one such as \"example.com\""))
}

/// Normalizes a path prefix.
pub(super) fn path_prefix(text: &str) -> Result<String, String> {
    if !text.starts_with('/') || text.contains(['?', '#']) {
        return Err(format!("{text:?} is not a path prefix; write one such as \"/docs/\""));
    }
    let url = CrawlUrl::parse(&format!("http://example.com{text}"));
    url.map(|url| url.path().to_owned()).map_err(|reason| format!("{text:?}: {}", reason.name()))
}

/// Checks that a regular expression compiles.
pub(super) fn regex(text: &str) -> Result<String, String> {
    match regex::Regex::new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => {
            let error = error.to_string();
            let last = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Err(format!("{text:?} is not a regular expression: {last}"))
        }
    }
}

/// Checks that a text is empty or a condition on links.
pub(super) fn condition(text: &str) -> Result<(), String> {
    crate::fields::link::compile_condition(text).map(drop)
}

/// Checks that a text is empty, or an expression or a preset for priorities.
pub(super) fn priority(text: &str) -> Result<(), String> {
    crate::fields::priority::PriorityRule::compile(text).map(drop)
}

/// Checks that a text is empty or a SHA-256 digest in lower-case hexadecimal digits.
pub(super) fn digest(text: &str) -> Result<(), String> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.is_empty() || text.len() == 64 && text.bytes().all(is_digit) {
        return Ok(());
    }
    Err(format!("{text:?} is not a digest: 64 digits from 0 to f; `crivello rank --feed` sets it"))
}

/// Checks that a text is empty or a rule of what is done with pages.
pub(super) fn keep(text: &str) -> Result<(), String> {
    crate::fields::page::KeepRule::compile(text).map(drop)
}

/// Checks that a text is a duration, or an expression for the time between two fetches of a page.
pub(super) fn interval(text: &str) -> Result<(), String> {
    crate::fields::recrawl::IntervalRule::compile(text).map(drop)
}

/// Checks that a text is empty or an expression for the weight of a page.
pub(super) fn weight(text: &str) -> Result<(), String> {
    crate::fields::recrawl::WeightRule::compile(text).map(drop)
}

/// Checks that a reason is not empty.
pub(super) fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("empty; write who agreed, and when".to_owned());
    }
    Ok(text.to_owned())
}
