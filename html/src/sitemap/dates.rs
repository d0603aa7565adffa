//! Dates of sitemaps and feeds: W3C datetime (a profile of ISO 8601, also RFC 3339) and RFC 822.

use crivello_common::time::Timestamp;
use jiff::civil::Time;
use jiff::fmt::{rfc2822, temporal};
use jiff::tz::Offset;

/// Maximum length of a date in bytes.
pub(super) const DATE_MAX: usize = 64;

static W3C: temporal::DateTimeParser = temporal::DateTimeParser::new();
/// Weekdays are often wrong, and are not needed.
static RFC_822: rfc2822::DateTimeParser = rfc2822::DateTimeParser::new().relaxed_weekday(true);

/// Parses a date, in whole seconds. A missing month, day or time is the first one, and a missing
/// zone is UTC. Returns `None` for a text that is no date, and for a date before 1970.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let seconds = if digits >= 4 { w3c(text)? } else { rfc_822(text)? };
    u64::try_from(seconds).ok().map(Timestamp::from_secs)
}

fn w3c(text: &str) -> Option<i64> {
    let whole = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        _ => return w3c_day(text),
    };
    w3c_day(&whole)
}

fn w3c_day(text: &str) -> Option<i64> {
    let pieces = W3C.parse_pieces(text).ok()?;
    let time = pieces.time().unwrap_or(Time::midnight());
    let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
    let at = offset.to_timestamp(pieces.date().to_datetime(time)).ok()?;
    Some(at.as_second())
}

fn rfc_822(text: &str) -> Option<i64> {
    RFC_822.parse_timestamp(text).ok().map(jiff::Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> Option<String> {
        let date = parse(text)?.to_string();
        Some(date.strip_suffix(".000000Z").expect("whole seconds").to_owned())
    }

    #[test]
    fn w3c_datetimes_of_every_precision_are_read() {
        for (text, expected) in [
            ("1997", "1997-01-01T00:00:00"),
            ("1997-07", "1997-07-01T00:00:00"),
            ("1997-07-16", "1997-07-16T00:00:00"),
            ("1997-07-16T19:20+01:00", "1997-07-16T18:20:00"),
            ("1997-07-16T19:20Z", "1997-07-16T19:20:00"),
            ("1997-07-16T19:20:30+01:00", "1997-07-16T18:20:30"),
            ("1997-07-16T19:20:30-11:30", "1997-07-17T06:50:30"),
            ("1997-07-16T19:20:30.45+01:00", "1997-07-16T18:20:30"),
            ("1997-07-16T19:20:30.123456789Z", "1997-07-16T19:20:30"),
            ("1997-07-16T19:20:30.4", "1997-07-16T19:20:30"),
            // Without a zone, with a space, with a zone without a colon, with a leap second.
            ("1997-07-16T19:20", "1997-07-16T19:20:00"),
            ("1997-07-16T19:20:30", "1997-07-16T19:20:30"),
            ("1997-07-16 19:20:30", "1997-07-16T19:20:30"),
            ("1997-07-16t19:20:30z", "1997-07-16T19:20:30"),
            ("1997-07-16T19:20:30+0100", "1997-07-16T18:20:30"),
            ("1997-07-16T19:20:30+01", "1997-07-16T18:20:30"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59"),
            ("2024-02-29", "2024-02-29T00:00:00"),
            ("9999-12-30T00:00:00Z", "9999-12-30T00:00:00"),
            ("1970-01-01", "1970-01-01T00:00:00"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn dates_of_rss_are_read() {
        for (text, expected) in [
            ("Wed, 02 Oct 2002 13:00:00 GMT", "2002-10-02T13:00:00"),
            ("Wed, 02 Oct 2002 15:00:00 +0200", "2002-10-02T13:00:00"),
            ("Wed, 02 Oct 2002 08:00:00 EST", "2002-10-02T13:00:00"),
            ("Wed, 2 Oct 2002 06:00 PDT", "2002-10-02T13:00:00"),
            ("02 Oct 02 13:00 UT", "2002-10-02T13:00:00"),
            ("Wed, 02 Oct 2002 13:00:00 UTC", "2002-10-02T13:00:00"),
            ("Wed, 02 Oct 2002 13:00:00 Z", "2002-10-02T13:00:00"),
            // The wrong weekday, another case, a date as in Atom.
            ("Mon, 02 Oct 2002 13:00:00 GMT", "2002-10-02T13:00:00"),
            ("wed, 02 oct 2002 13:00:00 gmt", "2002-10-02T13:00:00"),
            ("2002-10-02T15:00:00+02:00", "2002-10-02T13:00:00"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "x",
            "yesterday",
            "1969-12-31",
            "0000-00-00",
            "2024-13",
            "2024-02-30",
            "2024-02-01T25:00",
            "2024-02-01T10:00:00+99:00",
            "20",
            "202",
            "99999",
            "20240",
            "-2024",
            "+2024-01-01",
            "02/10/2002",
            "02 Foo 2002 13:00 UT",
            "1718000000000",
            // Later than any time of the library.
            "9999-12-31",
            "２０２４",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}", digits in "[0-9TZ:+. -]{0,40}") {
            let _ = (parse(&text), parse(&digits));
        }

        #[test]
        fn each_second_survives(seconds in 0_u64..253_402_300_799) {
            let at = jiff::Timestamp::from_second(seconds as i64).expect("a time");
            prop_assert_eq!(parse(&at.to_string()), Some(Timestamp::from_secs(seconds)));
            let mail = rfc2822::DateTimePrinter::new().timestamp_to_string(&at).expect("a date");
            prop_assert_eq!(parse(&mail), Some(Timestamp::from_secs(seconds)));
        }
    }
}
