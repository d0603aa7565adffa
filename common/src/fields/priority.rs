//! Priorities of links: `links.priority`.

use super::link::{FIELDS, HOST_RANK, INLINKS, LinkRecord, names};
use crivello_expressions::{Expression, ValueType};

/// Priority of a URL for which no expression decides.
pub const PRIORITY_DEFAULT: u8 = 128;
/// Priority of the URLs that are fetched last.
pub const PRIORITY_LAST: u8 = 254;

/// Expressions that have a name of their own, which `links.priority` accepts.
pub const PRESETS: &[(&str, &str)] = &[
    ("breadth-first", "link.depth < 254 ? link.depth : 254"),
    ("short-first", "url.length < 1016 ? url.length / 4 : 254"),
    ("off-site-first", "link.same_domain ? 160 : 96"),
    ("good-parents-first", "parent.status == 200 && parent.text_length > 500 ? 96 : 160"),
    ("most-linked-first", "url.inlinks < 128 ? 128 - url.inlinks : 0"),
    ("ranked-hosts-first", "255 - host.rank"),
];

/// Fields that follow from the row of a queued URL; so do those of the URL.
const OF_ROW: [&str; 3] = ["link.depth", "link.sitemap", HOST_RANK];

/// A compiled value of `links.priority`.
#[derive(Clone, Debug)]
pub struct PriorityRule {
    expression: Expression,
    is_of_row: bool,
    counts_inlinks: bool,
    names_host_rank: bool,
}

impl PriorityRule {
    /// Compiles the value of `links.priority`, an expression or the name of a preset; `None` if it is
    /// empty.
    ///
    /// # Errors
    /// The problem, its position and a remedy.
    pub fn compile(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let preset = PRESETS.iter().find(|(name, _)| *name == text);
        let text = preset.map_or(text, |(_, expression)| expression);
        let expression = Expression::compile(text, FIELDS, ValueType::Int);
        let expression = expression.map_err(|error| error.to_string())?;
        let is_of_row = expression.fields_used().iter().all(|&index| {
            let name = FIELDS[index].name;
            name.starts_with("url.") || OF_ROW.contains(&name)
        });
        let counts_inlinks = names(&expression, INLINKS);
        if counts_inlinks && !is_of_row {
            return Err("url.inlinks changes while a URL is queued: name only fields that it keeps beside it, \
                        url.…, link.depth, link.sitemap and host.rank"
                .to_owned());
        }
        let names_host_rank = names(&expression, HOST_RANK);
        Ok(Some(Self { expression, is_of_row, counts_inlinks, names_host_rank }))
    }

    /// Returns the priority of a link: the value of the expression, but at least 0 and at most 254, or
    /// [`PRIORITY_DEFAULT`] if it has no value for this link.
    pub fn priority(&self, link: &LinkRecord<'_>) -> u8 {
        let Ok(value) = self.expression.int(link) else { return PRIORITY_DEFAULT };
        u8::try_from(value.clamp(0, PRIORITY_LAST.into())).unwrap_or(PRIORITY_LAST)
    }

    pub(super) const fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Returns true if the priority of a queued URL follows from its row, so that a change of the rule
    /// also applies to URLs that are queued already.
    pub const fn is_of_row(&self) -> bool {
        self.is_of_row
    }

    /// Returns true if links must be counted, because the expression names their number.
    pub const fn counts_inlinks(&self) -> bool {
        self.counts_inlinks
    }

    /// Returns true if the expression names the rank of the host.
    pub const fn names_host_rank(&self) -> bool {
        self.names_host_rank
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::ParentRecord;
    use super::*;
    use crate::url::CrawlUrl;

    fn rule(text: &str) -> PriorityRule {
        PriorityRule::compile(text).unwrap().unwrap()
    }

    #[test]
    fn values_are_bounded_and_failures_have_the_default() {
        let url = CrawlUrl::parse("http://a.example/x/y").unwrap();
        for (text, priority) in [
            ("0", 0),
            ("254", 254),
            ("255", 254),
            ("-1", 0),
            ("9000000000 * 1000000000", 254),
            ("1 / (link.depth - 3)", PRIORITY_DEFAULT),
            ("url.path_depth * 10", 20),
            ("url.inlinks", 2),
            ("most-linked-first", 126),
            ("ranked-hosts-first", 245),
        ] {
            let (inlinks, host_rank) = (2, 10);
            let link = LinkRecord { inlinks, host_rank, ..LinkRecord::seed(&url, 3, false) };
            assert_eq!(rule(text).priority(&link), priority, "{text}");
        }
        assert!(PriorityRule::compile(" ").unwrap().is_none());
        assert!(PriorityRule::compile("url.host").is_err());
        assert!(PriorityRule::compile("breadth-fist").unwrap_err().contains("column 1"));
    }

    #[test]
    fn each_preset_orders_as_it_says() {
        let near = CrawlUrl::parse("http://a.example/x").unwrap();
        let far = CrawlUrl::parse("http://b.example/longer/path").unwrap();
        let page = CrawlUrl::parse("http://a.example/").unwrap();
        let (bytes, n_links, text_length, language) = (1, 1, 600, "eng");
        let parent =
            ParentRecord { url: &page, status: 200, bytes, n_links, text_length, language };
        let link = LinkRecord { parent: Some(parent), ..LinkRecord::seed(&near, 1, false) };
        let poor = Some(ParentRecord { text_length: 10, ..parent });
        let pairs = [
            ("breadth-first", link, LinkRecord { depth: 2, ..link }),
            ("short-first", link, LinkRecord { url: &far, ..link }),
            ("off-site-first", LinkRecord { url: &far, ..link }, link),
            ("good-parents-first", link, LinkRecord { parent: poor, ..link }),
            ("most-linked-first", LinkRecord { inlinks: 2, ..link }, link),
            ("ranked-hosts-first", LinkRecord { host_rank: 2, ..link }, link),
        ];
        assert!(pairs.iter().map(|(name, ..)| *name).eq(PRESETS.iter().map(|(name, _)| *name)));
        for (name, first, second) in pairs {
            let rule = rule(name);
            assert!(rule.priority(&first) < rule.priority(&second), "{name}");
        }
    }

    #[test]
    fn only_some_fields_are_kept_in_the_row() {
        for (text, is_of_row) in [
            ("7", true),
            ("breadth-first", true),
            ("short-first", true),
            ("link.sitemap ? 1 : 2", true),
            ("most-linked-first", true),
            ("ranked-hosts-first", true),
            ("off-site-first", false),
            ("good-parents-first", false),
            ("link.nofollow ? url.length : 2", false),
        ] {
            assert_eq!(rule(text).is_of_row(), is_of_row, "{text}");
            assert_eq!(rule(text).counts_inlinks(), text == "most-linked-first");
            assert_eq!(rule(text).names_host_rank(), text == "ranked-hosts-first");
        }
        let error = PriorityRule::compile("url.inlinks + parent.links").unwrap_err();
        assert!(error.starts_with("url.inlinks changes"), "{error}");
    }
}
