//! The file of an origin with its rights of text and data mining (TDMRep, section 6.1).

use crate::messages::{Response, RobotsOutcome};
use crivello_common::robots::{Rules, TdmRule};
use crivello_common::url::CrawlUrl;
use crivello_html::RobotsTxt;
use serde_json::Value;

/// Maximum size of a file in bytes. Of a larger one not even the rules would be kept.
const FILE_SIZE_MAX: usize = 64 << 10;

/// Returns the rules of an origin with those of the response to the request for its TDM file; `Missing` if
/// it is none.
pub(super) fn found(response: &Response, url: &CrawlUrl, rules: &Rules) -> RobotsOutcome {
    let is_found = matches!(response.status, 200..=299) && response.truncated.is_none();
    let text = response.robots_txt().filter(|_| is_found).and_then(RobotsTxt::text);
    let text = text.filter(|text| text.len() <= FILE_SIZE_MAX);
    text.and_then(|text| with_file(&text, url, rules))
        .map_or(RobotsOutcome::Missing, |rules| RobotsOutcome::Rules(rules.shared()))
}

/// Returns the rules with those of a file; `None` if it is no list. Entries that cannot be read are left
/// out.
fn with_file(text: &[u8], url: &CrawlUrl, rules: &Rules) -> Option<Rules> {
    let list: Vec<Value> = serde_json::from_slice(text).ok()?;
    let base = url::Url::parse(url.as_str()).ok()?;
    let entries: Vec<_> = list.iter().filter_map(|entry| entry_of(entry, &base)).collect();
    let rules_of_file = entries.iter().map(|(location, reservation, policy)| TdmRule {
        location,
        reservation: *reservation,
        policy: policy.as_ref().map(url::Url::as_str),
    });
    Some(rules.with_tdm_rules(rules_of_file))
}

/// Returns location, reservation and policy of an entry.
fn entry_of<'a>(entry: &'a Value, base: &url::Url) -> Option<(&'a str, bool, Option<url::Url>)> {
    let reservation = match &entry["tdm-reservation"] {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    let reservation = match reservation {
        0 => false,
        1 => true,
        _ => return None,
    };
    let policy = entry["tdm-policy"].as_str().and_then(|text| {
        crivello_common::url::parse_cost(text).ok()?;
        base.join(text).ok()
    });
    Some((entry["location"].as_str()?, reservation, policy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Option<String> {
        let url = CrawlUrl::parse("https://a.test/.well-known/tdmrep.json").unwrap();
        let rules = with_file(text.as_bytes(), &url, &Rules::allow_all())?;
        Some(rules.signals().map_or(String::new(), |signals| signals.lines().to_owned()))
    }

    #[test]
    fn entries_are_rules_in_their_order() {
        let file = r#"[
            {"location": "/a/*.html$", "tdm-reservation": 1, "tdm-policy": "/policy.json"},
            {"location": "/b", "tdm-reservation": "0"},
            {"location": "/c", "tdm-reservation": 2},
            {"location": "/d", "tdm-reservation": true},
            {"location": 7, "tdm-reservation": 1},
            {"tdm-reservation": 1},
            "x", null, [],
            {"location": "/", "tdm-reservation": 1, "tdm-policy": "https://b.test/p", "more": {}}
        ]"#;
        let wanted = "TDM: /a/*.html$ 1 https://a.test/policy.json\nTDM: /b 0\n\
            TDM: / 1 https://b.test/p\n";
        assert_eq!(lines(file).as_deref(), Some(wanted));
    }

    #[test]
    fn what_is_no_list_is_no_file() {
        let deep = "[".repeat(60_000);
        for text in ["", "{}", "<html>", "[{\"location\": \"/\"", &deep] {
            assert_eq!(lines(text), None, "{}", &text[..text.len().min(30)]);
        }
        assert_eq!(lines("[]").as_deref(), Some(""));
        assert_eq!(lines("[{}]").as_deref(), Some(""));
    }
}
