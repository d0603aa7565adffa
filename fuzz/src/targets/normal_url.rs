//! Properties of every URL in normal form.

use crivello_archive::surt;
use crivello_common::config::AssignBy;
use crivello_common::url::{CrawlUrl, TEXT_MAX, group_name, is_normal_host};

/// Checks a URL that was accepted.
pub fn check(url: &CrawlUrl) {
    let text = url.as_str();
    assert!(text.len() <= TEXT_MAX, "{} bytes", text.len());
    assert!(text.is_ascii(), "not ASCII: {text:?}");
    assert!(text.bytes().all(|byte| byte > b' ' && byte != 0x7f), "white space in {text:?}");
    assert_eq!(CrawlUrl::parse(text).as_ref(), Ok(url), "the normal form changes");
    assert!(is_normal_host(url.host()), "the host of {text:?} is not in normal form");
    assert!(url.path_and_query().starts_with('/') && !text.contains('#'), "{text:?}");
    let rebuilt = CrawlUrl::from_normal_parts(url.origin(), url.host(), url.path_and_query());
    assert_eq!(rebuilt.as_ref(), Some(url), "the parts give another URL");
    let group = group_name(url.host(), AssignBy::Domain);
    assert!(url.host().ends_with(group) && !group.is_empty(), "{group:?} of {text:?}");
    let key = surt(url);
    assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "the key of {text:?} is {key:?}");
}
