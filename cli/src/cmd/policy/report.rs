//! The text and the JSON of a report.

use crate::cmd::archive::files::printable;
use crivello_export::{PolicyCount, PolicyReport, SitePolicy};
use serde_json::{Value, json};

/// Value in the table of statements of which any value counts.
const ANY: &str = "(any)";

/// Returns the table of all counts.
pub fn table(report: &PolicyReport) -> String {
    let counts = &report.counts;
    let mut rows = vec![["signal", "value", "sites", "pages"].map(str::to_owned)];
    let mut push = |name: &str, value: &str, count: PolicyCount| {
        let numbers = [count.sites, count.pages].map(|n| n.to_string());
        let [sites, pages] = numbers;
        rows.push([printable(name), printable(value), sites, pages]);
    };
    for ((name, value), count) in &counts.statements {
        push(name, if value.is_empty() { ANY } else { value }, *count);
    }
    push("with signals", "", counts.with_signals);
    push("all", "", counts.all);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    let mut text = String::new();
    for [name, value, sites, pages] in &rows {
        let [a, b, c, d] = widths;
        text.push_str(&format!("{name:a$}  {value:b$}  {sites:>c$}  {pages:>d$}\n"));
    }
    let skipped: Vec<String> =
        report.skipped.iter().map(|(reason, n)| format!("{reason}: {n}")).collect();
    if !skipped.is_empty() {
        text.push_str(&format!("captures that do not count: {}\n", skipped.join(", ")));
    }
    if report.damaged > 0 {
        text.push_str(&format!("damaged places: {}\n", report.damaged));
    }
    text
}

/// Returns all counts as one object.
pub fn as_json(report: &PolicyReport) -> String {
    let counts = &report.counts;
    let numbers = |count: PolicyCount| json!({ "sites": count.sites, "pages": count.pages });
    let statement = |((name, value), count): (&(String, String), &PolicyCount)| {
        json!({
            "signal": name,
            "value": of_value(value),
            "sites": count.sites,
            "pages": count.pages,
        })
    };
    let whole = json!({
        "all": numbers(counts.all),
        "with_signals": numbers(counts.with_signals),
        "signals": counts.statements.iter().map(statement).collect::<Vec<_>>(),
        "skipped": report.skipped,
        "damaged": report.damaged,
    });
    printable_json(&format!("{whole:#}\n"))
}

/// Returns the line of a site, as text or JSON.
pub fn of_site(site: &SitePolicy, as_json: bool) -> String {
    if as_json {
        let statement = |((name, value), pages): (&(String, String), &u64)| json!({ "signal": name, "value": of_value(value), "pages": pages });
        let line = json!({
            "host": site.host,
            "pages": site.pages,
            "with_signals": site.pages_with_signals,
            "signals": site.statements.iter().map(statement).collect::<Vec<_>>(),
        });
        return printable_json(&format!("{line}\n"));
    }
    let statement = |((name, value), pages): (&(String, String), &u64)| {
        let value = if value.is_empty() { String::new() } else { format!("={value}") };
        format!("{name}{value}: {pages}")
    };
    let statements: Vec<String> = site.statements.iter().map(statement).collect();
    printable(&format!("{} ({} pages) {}", site.host, site.pages, statements.join(", "))) + "\n"
}

/// Returns null for statements of which any value counts.
fn of_value(value: &str) -> Value {
    if value.is_empty() { Value::Null } else { value.into() }
}

/// Returns JSON in which the control characters of texts are escaped. serde_json escapes only the first 32.
fn printable_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() && c != '\n' {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_export::PolicyCounts;

    fn report() -> PolicyReport {
        let key = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let count = |sites, pages| PolicyCount { sites, pages };
        let counts = PolicyCounts {
            all: count(12, 3_456),
            with_signals: count(2, 20),
            statements: [
                (key("license", ""), count(1, 12)),
                (key("robots", "noarchive"), count(2, 8)),
            ]
            .into(),
        };
        let skipped = [("robots-txt", 12), ("status", 3)].into();
        PolicyReport { counts, skipped, ..PolicyReport::default() }
    }

    #[test]
    fn the_table_is_aligned() {
        let wanted = "\
            signal        value      sites  pages\n\
            license       (any)          1     12\n\
            robots        noarchive      2      8\n\
            with signals                 2     20\n\
            all                         12   3456\n\
            captures that do not count: robots-txt: 12, status: 3\n";
        assert_eq!(table(&report()), wanted);
    }

    #[test]
    fn json_has_the_same_counts() {
        let whole: Value = serde_json::from_str(&as_json(&report())).unwrap();
        assert_eq!(whole["all"], json!({ "sites": 12, "pages": 3_456 }));
        let wanted = json!({ "signal": "robots", "value": "noarchive", "sites": 2, "pages": 8 });
        assert_eq!(whole["signals"][1], wanted);
        assert_eq!(whole["signals"][0]["value"], Value::Null);
        assert_eq!(whole["skipped"]["status"], 3);
    }

    #[test]
    fn a_site_is_a_line() {
        let key = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let site = SitePolicy {
            host: "a.test".to_owned(),
            pages: 9,
            pages_with_signals: 5,
            statements: [(key("license", ""), 5), (key("usageTrainAi", "disallow"), 2)].into(),
        };
        assert_eq!(
            of_site(&site, false),
            "a.test (9 pages) license: 5, usageTrainAi=disallow: 2\n"
        );
        let line: Value = serde_json::from_str(&of_site(&site, true)).unwrap();
        assert_eq!((&line["host"], &line["signals"][1]["pages"]), (&json!("a.test"), &json!(2)));
    }

    #[test]
    fn json_has_no_control_characters_and_means_the_same() {
        let site = SitePolicy {
            host: "a.test".to_owned(),
            pages: 1,
            pages_with_signals: 1,
            statements: [(("usage".to_owned(), "\u{9b}é\u{1b}\u{7f}\n".to_owned()), 1)].into(),
        };
        let mut counted = report();
        counted
            .counts
            .statements
            .insert(("usage".to_owned(), "\u{9b}\u{7f}".to_owned()), PolicyCount::default());
        for text in [of_site(&site, true), as_json(&counted)] {
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        }
        let line: Value = serde_json::from_str(&of_site(&site, true)).unwrap();
        assert_eq!(line["signals"][0]["value"], "\u{9b}é\u{1b}\u{7f}\n");
    }
}
