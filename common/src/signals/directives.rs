//! Robots directives of a page: `<meta name=robots>` and `X-Robots-Tag`.

use crate::closed_set;
use std::fmt;

/// Directives without a value. `none` is the first two.
const FLAGS: [&str; 9] = [
    "noindex",
    "nofollow",
    "noarchive",
    "nosnippet",
    "noimageindex",
    "notranslate",
    "indexifembedded",
    "noai",
    "noimageai",
];
const NOINDEX: u16 = 1;
const NOFOLLOW: u16 = 1 << 1;
const NOARCHIVE: u16 = 1 << 2;

/// Directives with a value.
const VALUED: [&str; 4] =
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];
/// Maximum length of the date of `unavailable_after` in bytes.
const DATE_MAX: usize = 64;

closed_set! {
    /// Largest preview of images, the most restrictive first.
    pub enum ImagePreview {
        /// No preview.
        None => "none",
        /// A small one, as by default.
        Standard => "standard",
        /// A large one.
        Large => "large",
    }
}

/// The directives that hold. Several statements add up, and the most restrictive value wins. What
/// permits no more than is permitted anyway (`all`, `index`, `follow`, a limit of -1) is not kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RobotsDirectives {
    flags: u16,
    max_snippet: Option<u32>,
    max_image_preview: Option<ImagePreview>,
    max_video_preview: Option<u32>,
    unavailable_after: Option<Box<str>>,
}

impl RobotsDirectives {
    /// Adds the directives of a comma-separated `list`. Spaces separate directives, too.
    pub fn add_list(&mut self, list: &str) {
        self.add(list, None);
    }

    /// Adds the directives of one `X-Robots-Tag` header that apply to the crawler named `agent`. A name and
    /// a colon address the directives that follow. A directive with a value (`max-snippet: 20`) is not
    /// a name.
    pub fn add_header(&mut self, value: &str, agent: &str) {
        self.add(value, Some(agent));
    }

    fn add(&mut self, list: &str, agent: Option<&str>) {
        let mut is_addressed = true;
        // Dates have commas: a piece that begins with a digit continues one.
        let mut date: Option<String> = None;
        for piece in list.split(',') {
            let mut piece = piece.trim_ascii();
            match date.take() {
                Some(begun) if piece.starts_with(|c: char| c.is_ascii_digit()) => {
                    date = Some(if begun.len() > DATE_MAX { begun } else { begun + ", " + piece });
                    continue;
                }
                Some(whole) => self.set_unavailable_after(&whole),
                None => {}
            }
            if let Some(agent) = agent
                && let Some((name, rest)) = piece.split_once(':')
                && is_agent(name.trim_ascii())
            {
                is_addressed = name.trim_ascii().eq_ignore_ascii_case(agent);
                piece = rest.trim_ascii();
            }
            if is_addressed {
                date = self.add_piece(piece);
            }
        }
        if let Some(whole) = date {
            self.set_unavailable_after(&whole);
        }
    }

    /// Adds the directives between two commas. Returns the date of `unavailable_after`, which may go on
    /// after the comma.
    fn add_piece(&mut self, piece: &str) -> Option<String> {
        let mut rest = piece;
        while let Some((names, after)) = rest.split_once(':') {
            let mut names = names.split_ascii_whitespace();
            let last = names.next_back().unwrap_or_default();
            names.for_each(|name| self.add_flag(name));
            let after = after.trim_ascii_start();
            let is = |name: &str| last.eq_ignore_ascii_case(name);
            if is("unavailable_after") {
                return Some(after[..after.floor_char_boundary(DATE_MAX + 1)].to_owned());
            }
            if !VALUED.iter().any(|name| is(name)) {
                self.add_flag(last);
                rest = after;
                continue;
            }
            let end = after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len());
            let value = &after[..end];
            if is("max-snippet") {
                set_limit(&mut self.max_snippet, value);
            } else if is("max-video-preview") {
                set_limit(&mut self.max_video_preview, value);
            } else {
                let preview = ImagePreview::from_name(&value.to_ascii_lowercase());
                let both = [self.max_image_preview, preview];
                self.max_image_preview = both.into_iter().flatten().min();
            }
            rest = &after[end..];
        }
        rest.split_ascii_whitespace().for_each(|name| self.add_flag(name));
        None
    }

    fn add_flag(&mut self, name: &str) {
        if name.eq_ignore_ascii_case("none") {
            self.flags |= NOINDEX | NOFOLLOW;
        } else if let Some(bit) = FLAGS.iter().position(|flag| name.eq_ignore_ascii_case(flag)) {
            self.flags |= 1 << bit;
        }
    }

    /// Keeps the earlier date. One that cannot be read yields to one that can.
    fn set_unavailable_after(&mut self, date: &str) {
        let is_text = |c: char| c.is_ascii_graphic() || c == ' ';
        let date = date.trim_ascii();
        if date.is_empty() || date.len() > DATE_MAX || !date.chars().all(is_text) {
            return;
        }
        let is_earlier = match (&self.unavailable_after, time_of(date)) {
            (None, _) => true,
            (Some(before), Some(time)) => time_of(before).is_none_or(|before| time < before),
            (Some(_), None) => false,
        };
        if is_earlier {
            self.unavailable_after = Some(date.into());
        }
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true for `noindex` or `none`.
    pub const fn noindex(&self) -> bool {
        self.flags & NOINDEX != 0
    }

    /// Returns true for `nofollow` or `none`.
    pub const fn nofollow(&self) -> bool {
        self.flags & NOFOLLOW != 0
    }

    /// Returns true for `noarchive`.
    pub const fn noarchive(&self) -> bool {
        self.flags & NOARCHIVE != 0
    }
}

/// Lists the directives in a fixed order, as they are written in pages.
impl fmt::Display for RobotsDirectives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (bit, flag) in FLAGS.iter().enumerate() {
            if self.flags & 1 << bit != 0 {
                write!(f, "{separator}{flag}")?;
                separator = ", ";
            }
        }
        let preview = self.max_image_preview.map(|preview| preview.name().to_owned());
        for (name, value) in [
            ("max-snippet:", self.max_snippet.map(|n| n.to_string())),
            ("max-image-preview:", preview),
            ("max-video-preview:", self.max_video_preview.map(|n| n.to_string())),
            ("unavailable_after: ", self.unavailable_after.as_deref().map(str::to_owned)),
        ] {
            if let Some(value) = value {
                write!(f, "{separator}{name}{value}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

/// Returns true for the name of a crawler: a word that is no directive with a value.
fn is_agent(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(|c: char| c.is_ascii_whitespace())
        && !VALUED.iter().any(|valued| name.eq_ignore_ascii_case(valued))
}

/// Keeps the lower limit. Negative ones are none.
fn set_limit(limit: &mut Option<u32>, value: &str) {
    if let Ok(value) = value.parse() {
        *limit = Some(limit.map_or(value, |before| before.min(value)));
    }
}

/// Returns the time of a date in a form of RFC 822, RFC 850 or ISO 8601.
fn time_of(date: &str) -> Option<jiff::Timestamp> {
    use jiff::fmt::rfc2822::DateTimeParser;
    static RFC_822: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);
    let of_day = || {
        let day = date.parse::<jiff::civil::DateTime>().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(day).ok()
    };
    let of_mail = || {
        let after_weekday = date.split_once(", ").map_or(date, |(_, after)| after);
        let (day, time) = after_weekday.split_once(' ')?;
        RFC_822.parse_timestamp(format!("{} {time}", day.replace('-', " "))).ok()
    };
    date.parse().ok().or_else(of_day).or_else(of_mail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        for (list, wanted) in [
            ("noindex", "noindex"),
            ("NOINDEX,NoFollow", "noindex, nofollow"),
            ("none", "noindex, nofollow"),
            ("nofollow noindex", "noindex, nofollow"),
            ("all", ""),
            ("index, follow, max-snippet:-1, max-video-preview:-1", ""),
            ("noarchive, nosnippet, noimageindex", "noarchive, nosnippet, noimageindex"),
            ("notranslate, noindex, indexifembedded", "noindex, notranslate, indexifembedded"),
            ("noai,noimageai", "noai, noimageai"),
            ("max-snippet:20", "max-snippet:20"),
            ("max-snippet: 20, noarchive", "noarchive, max-snippet:20"),
            ("noindex max-snippet: 20 nofollow", "noindex, nofollow, max-snippet:20"),
            ("max-snippet:20, max-snippet:5, max-snippet:-1", "max-snippet:5"),
            ("max-snippet:0", "max-snippet:0"),
            ("max-snippet:lots, max-snippet:99999999999999", ""),
            ("max-image-preview:large", "max-image-preview:large"),
            ("max-image-preview:Large, max-image-preview:standard", "max-image-preview:standard"),
            ("max-image-preview:none, max-image-preview:large", "max-image-preview:none"),
            ("max-image-preview:huge", ""),
            ("max-video-preview:10", "max-video-preview:10"),
            (
                "unavailable_after: 25 Jun 2010 15:00:00 PST",
                "unavailable_after: 25 Jun 2010 15:00:00 PST",
            ),
            ("unavailable_after:2026-11-28, noindex", "noindex, unavailable_after: 2026-11-28"),
            (
                "unavailable_after: Sunday, 25-Jun-2010 15:00:00 PST, noarchive",
                "noarchive, unavailable_after: Sunday, 25-Jun-2010 15:00:00 PST",
            ),
            ("noindex, unavailable_after:", "noindex"),
            ("unavailable_after: 25 Jun\u{1b}[2J", ""),
            ("googlebot: noindex", "noindex"),
            ("noindexx, no index", ""),
            ("", ""),
            (",,:,: ,", ""),
        ] {
            let mut directives = RobotsDirectives::default();
            directives.add_list(list);
            assert_eq!(directives.to_string(), wanted, "{list}");
            assert_eq!(directives.is_empty(), wanted.is_empty(), "{list}");
        }
    }

    #[test]
    fn headers_of_several_crawlers() {
        for (headers, wanted) in [
            (&["noindex"][..], "noindex"),
            (&["noindex", "noarchive, max-snippet:7"], "noindex, noarchive, max-snippet:7"),
            (&["crivello: noindex"], "noindex"),
            (&["Crivello : noindex, nofollow"], "noindex, nofollow"),
            (&["otherbot: noindex, nofollow"], ""),
            (&["360spider: noindex, nofollow"], ""),
            (
                &["unavailable_after: soon", "unavailable_after: 2010-06-25"],
                "unavailable_after: 2010-06-25",
            ),
            (&["noindex, otherbot: nofollow"], "noindex"),
            (&["otherbot: nofollow, crivello: noarchive"], "noarchive"),
            // A header addresses only its own directives.
            (&["otherbot: nofollow", "noindex"], "noindex"),
            (&["max-snippet: 20, nofollow"], "nofollow, max-snippet:20"),
            (&["otherbot: max-snippet: 20, noindex"], ""),
            (&["crivello: max-snippet: 20"], "max-snippet:20"),
            (
                &["unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex"],
                "noindex, unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT",
            ),
            (&["otherbot: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex"], ""),
            (&["otherbot: unavailable_after: 2010-06-25T15:00:00, crivello: noindex"], "noindex"),
            (
                &[
                    "unavailable_after: 2010-06-25T15:00:00Z",
                    "unavailable_after: 24-Jun-2010 15:00:00 GMT",
                ],
                "unavailable_after: 24-Jun-2010 15:00:00 GMT",
            ),
            (
                &[
                    "unavailable_after: 2010-06-25",
                    "unavailable_after: 2011-01-01",
                    "unavailable_after: x",
                ],
                "unavailable_after: 2010-06-25",
            ),
        ] {
            let mut directives = RobotsDirectives::default();
            headers.iter().for_each(|header| directives.add_header(header, "crivello"));
            assert_eq!(directives.to_string(), wanted, "{headers:?}");
        }
    }

    /// If the rest is searched for each colon, this takes hours.
    #[test]
    fn a_list_of_colons_is_read_in_linear_time() {
        for text in ["a:", ":", "a: ", "max-snippet:"] {
            let mut directives = RobotsDirectives::default();
            directives.add_list(&text.repeat(1 << 20));
            directives.add_header(&text.repeat(1 << 20), "crivello");
            assert!(directives.is_empty(), "{text}");
        }
    }

    #[test]
    fn dates_are_compared_in_each_form() {
        for (date, wanted) in [
            ("2010-06-25T15:00:00Z", Some(1_277_478_000)),
            ("2010-06-25T17:00:00+02:00", Some(1_277_478_000)),
            ("2010-06-25T15:00:00", Some(1_277_478_000)),
            ("2010-06-25", Some(1_277_424_000)),
            ("25 Jun 2010 15:00:00 GMT", Some(1_277_478_000)),
            ("Fri, 25 Jun 2010 15:00:00 GMT", Some(1_277_478_000)),
            ("Friday, 25-Jun-2010 15:00:00 GMT", Some(1_277_478_000)),
            ("25 Jun 2010 07:00:00 PST", Some(1_277_478_000)),
            ("25 Jun 2010 07:00:00 -0800", Some(1_277_478_000)),
            ("25-Jun-2010 07:00:00 -0800", Some(1_277_478_000)),
            ("tomorrow", None),
        ] {
            assert_eq!(time_of(date).map(jiff::Timestamp::as_second), wanted, "{date}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_short_directives_that_read_back(
            texts in prop::collection::vec("[a-zA-Z0-9:, _-]{0,80}|(noindex|max-snippet:[0-9]{1,3}|unavailable_after: [0-9 ,:a-z]{0,90}|crivello:| |,){0,12}", 1..4),
        ) {
            let mut directives = RobotsDirectives::default();
            texts.iter().for_each(|text| directives.add_header(text, "crivello"));
            let text = directives.to_string();
            prop_assert!(text.len() < 400);
            let mut again = RobotsDirectives::default();
            again.add_list(&text);
            prop_assert_eq!(again.to_string(), text);
        }
    }
}
