//! Conditional requests (RFC 9110 section 13).

use std::time::{Duration, UNIX_EPOCH};

/// The conditions of a request: its header fields, as they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// `If-None-Match`; several lines are joined with commas.
    pub if_none_match: Option<String>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<String>,
}

/// The validators of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageValidators {
    /// The entity tag, with its quotes and, if it is weak, with `W/` before them.
    pub etag: Option<String>,
    /// `Last-Modified`, in seconds since 1970.
    pub last_modified: Option<u64>,
    /// True if no other version of the page ever had this date. Otherwise it must not lead to a
    /// 304: dates have whole seconds, and a page may change twice in one.
    pub is_date_exact: bool,
}

/// The conditions that a web evaluates. It ignores the others, as if it did not know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// `If-None-Match`.
    pub if_none_match: bool,
    /// `If-Modified-Since`.
    pub if_modified_since: bool,
}

impl Conditions {
    /// Adds a header field of a request, if it is a condition.
    pub fn note(&mut self, name: &str, value: &str) {
        if name.eq_ignore_ascii_case("if-none-match") {
            match &mut self.if_none_match {
                Some(list) => {
                    list.push_str(", ");
                    list.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            }
        } else if name.eq_ignore_ascii_case("if-modified-since") {
            self.if_modified_since = Some(value.to_owned());
        }
    }

    /// Returns whether there is any condition.
    pub const fn any(&self) -> bool {
        self.if_none_match.is_some() || self.if_modified_since.is_some()
    }

    /// Returns whether a page with these validators is answered with 304. A known `If-None-Match`
    /// decides alone (section 13.2.2).
    pub fn is_not_modified(&self, current: &PageValidators, evaluated: Evaluated) -> bool {
        if let Some(list) = self.if_none_match.as_deref().filter(|_| evaluated.if_none_match) {
            return list.trim() == "*" || current.etag.as_deref().is_some_and(|e| has(list, e));
        }
        let date = self.if_modified_since.as_deref().filter(|_| evaluated.if_modified_since);
        let seconds = date.and_then(|date| httpdate::parse_http_date(date.trim()).ok());
        let seconds = seconds.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let (Some(since), Some(last)) = (seconds.map(|d| d.as_secs()), current.last_modified)
        else {
            return false;
        };
        last <= since && current.is_date_exact
    }
}

impl PageValidators {
    /// Returns the header fields of the validators.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        let date = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let last_modified = self.last_modified.map(|at| httpdate::fmt_http_date(date(at)));
        let fields = [("ETag", self.etag.clone()), ("Last-Modified", last_modified)];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Returns whether a list has an entity tag, by weak comparison (section 8.8.3.2). It is read up to
/// the first error. Commas within quotes belong to the tag.
fn has(list: &str, etag: &str) -> bool {
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    let wanted = opaque(etag);
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        rest = rest.strip_prefix("W/").unwrap_or(rest);
        let Some(len) = rest.strip_prefix('"').and_then(|tag| tag.find('"')) else {
            return false;
        };
        let (tag, after) = rest.split_at(len + 2);
        if tag == wanted {
            return true;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Evaluated = Evaluated { if_none_match: true, if_modified_since: true };
    const AT: u64 = 784_111_777;
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn conditions(fields: &[(&str, &str)]) -> Conditions {
        let mut conditions = Conditions::default();
        fields.iter().for_each(|(name, value)| conditions.note(name, value));
        conditions
    }

    fn page(etag: &str, last_modified: u64) -> PageValidators {
        let etag = (!etag.is_empty()).then(|| etag.to_owned());
        let last_modified = (last_modified > 0).then_some(last_modified);
        PageValidators { etag, last_modified, is_date_exact: true }
    }

    #[test]
    fn not_modified_is_answered_as_rfc_9110_says() {
        let (tag, date) = ("If-None-Match", "If-Modified-Since");
        let both = page("\"a\"", AT);
        for (fields, current, wanted) in [
            (&[][..], &both, false),
            // One tag, in any strength.
            (&[(tag, "\"a\"")], &both, true),
            (&[(tag, "W/\"a\"")], &both, true),
            (&[(tag, "\"a\"")], &page("W/\"a\"", AT), true),
            (&[(tag, "W/\"a\"")], &page("W/\"a\"", AT), true),
            (&[(tag, "\"b\"")], &both, false),
            (&[(tag, "\"A\"")], &both, false),
            (&[(tag, "a")], &both, false),
            (&[(tag, "\"a")], &both, false),
            (&[(tag, "")], &both, false),
            // Several tags, also with commas in them, and in several lines.
            (&[(tag, "\"b\", W/\"a\" ,\"c\"")], &both, true),
            (&[(tag, "\"b\",\"c\"")], &both, false),
            (&[(tag, "\"b,\"a\"")], &both, false),
            (&[(tag, "\"x,y\", \"a\"")], &both, true),
            (&[(tag, "\"x,y\"")], &page("\"x,y\"", 0), true),
            (&[(tag, "\"b\""), (tag, "\"a\"")], &both, true),
            // Any page that exists.
            (&[(tag, "*")], &both, true),
            (&[(tag, "*")], &page("", 0), true),
            (&[(tag, "\"*\"")], &both, false),
            // Dates.
            (&[(date, DATE)], &both, true),
            (&[(date, LATER)], &both, true),
            (&[(date, EARLIER)], &both, false),
            (&[(date, "Sunday, 06-Nov-94 08:49:37 GMT")], &both, true),
            (&[(date, "Sun Nov  6 08:49:37 1994")], &both, true),
            (&[(date, "yesterday")], &both, false),
            (&[(date, "")], &both, false),
            (&[(date, LATER)], &page("\"a\"", 0), false),
            // A tag decides alone, even where the page has none.
            (&[(tag, "\"b\""), (date, LATER)], &both, false),
            (&[(date, EARLIER), (tag, "\"a\"")], &both, true),
            (&[(tag, "\"a\""), (date, LATER)], &page("", AT), false),
        ] {
            let asked = conditions(fields);
            assert_eq!(asked.is_not_modified(current, BOTH), wanted, "{fields:?} {current:?}");
            assert_eq!(asked.any(), !fields.is_empty());
        }
    }

    #[test]
    fn conditions_that_are_not_evaluated_are_as_if_absent() {
        let neither = Evaluated { if_none_match: false, if_modified_since: false };
        let only_dates = Evaluated { if_none_match: false, if_modified_since: true };
        let only_tags = Evaluated { if_none_match: true, if_modified_since: false };
        let asked = conditions(&[("if-none-match", "\"a\""), ("if-modified-since", DATE)]);
        let current = page("\"a\"", AT);
        assert!(!asked.is_not_modified(&current, neither));
        assert!(asked.is_not_modified(&page("\"b\"", AT), only_dates));
        assert!(!asked.is_not_modified(&page("\"b\"", AT), only_tags));
        assert!(asked.is_not_modified(&current, only_tags));
    }

    #[test]
    fn a_date_that_two_versions_share_is_no_reason_for_304() {
        let current = PageValidators { is_date_exact: false, ..page("", AT) };
        assert!(!conditions(&[("If-Modified-Since", LATER)]).is_not_modified(&current, BOTH));
    }

    #[test]
    fn headers_are_those_that_exist() {
        let date = ("Last-Modified", DATE.to_owned());
        assert_eq!(page("W/\"a\"", AT).headers(), [("ETag", "W/\"a\"".to_owned()), date.clone()]);
        assert_eq!(page("", AT).headers(), [date]);
        assert_eq!(PageValidators::default().headers(), []);
    }
}
