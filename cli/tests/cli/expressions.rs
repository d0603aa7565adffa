//! Tests of `crivello check-expression`, and of a condition that no crawl may start with.

use crate::program::{expect, fresh};

#[test]
fn each_url_is_judged_and_the_deciding_part_named() {
    let dir = fresh("check-expression");
    let words = |expression: &'static str, urls: &[&'static str]| {
        [&["check-expression", expression][..], urls].concat()
    };
    let condition = "url.host.endsWith(\".org\") && url.path_depth < 2";
    let urls = ["http://a.org/x", "http://a.org/x/y", "http://a.com/"];
    let (output, _) = expect(&dir, &words(condition, &urls), 1);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "admitted  http://a.org/x");
    assert_eq!(lines[1], "refused   http://a.org/x/y  `url.path_depth < 2` is false");
    assert!(lines[2].ends_with("`url.host.endsWith(\".org\")` is false"), "{output}");
    let parent = ["http://a.org/x", "--parent", "http://b.org/", "--depth", "4"];
    let _ = expect(&dir, &words("link.depth == 5 && !link.same_host", &parent), 0);
    let (output, _) = expect(&dir, &words("short-first", &["http://a.org/"]), 0);
    assert_eq!(output, "3         http://a.org/\n");
    let (output, _) = expect(&dir, &words("url.path_depth * 100", &urls[1..2]), 0);
    assert_eq!(output, "200       http://a.org/x/y\n");
    let (output, _) = expect(&dir, &words("1 / url.path_depth == 1", &["http://a.org/"]), 1);
    assert!(output.contains("division by zero"), "{output}");
}

#[test]
fn expressions_over_pages_are_tried_too() {
    let dir = fresh("page-expression");
    let keep = "page.noindex ? 'drop' : page.text_length < 100 ? 'parse' : 'archive'";
    let weight = "url.path_depth == 0 ? 10.0 : 1.5";
    let interval = "url.path_depth == 0 ? 600 : 86400";
    let named = ["--for", "recrawl.interval"];
    for (expression, options, line) in [
        (keep, &["--text-length", "100"][..], "archive   http://a.org/"),
        (keep, &["--noindex"], "drop      http://a.org/"),
        (keep, &["--for", "pages.keep"], "parse     http://a.org/"),
        (weight, &["--for", "recrawl.weight"], "10        http://a.org/"),
        ("page.status == 200 ? 3 : 0", &[], "3         http://a.org/"),
        (interval, &named, "600s      http://a.org/"),
        ("7d", &named, "604800s   http://a.org/"),
        (
            "link.kind == 'image'",
            &["--parent", "http://b.org/", "--kind", "image"],
            "admitted  http://a.org/",
        ),
        (
            "parent.links > 5",
            &["--parent", "http://b.org/", "--links", "6"],
            "admitted  http://a.org/",
        ),
    ] {
        let words = [&["check-expression", expression, "http://a.org/"][..], options].concat();
        let (output, _) = expect(&dir, &words, 0);
        assert_eq!(output.trim_end(), line, "{expression}");
    }
    let words = ["check-expression", "page.statos == 200 ? 'archive' : 'drop'", "http://a.org/"];
    let (_, stderr) = expect(&dir, &words, 64);
    assert!(stderr.contains("page.status"), "{stderr}");
    let words = ["check-expression", "'keep'", "http://a.org/", "--for", "pages.keep"];
    let (output, _) = expect(&dir, &words, 1);
    assert!(output.contains("none of"), "{output}");
}

#[test]
fn a_wrong_condition_is_a_usage_error_with_column_and_remedy() {
    let dir = fresh("wrong-expression");
    for (condition, reasons) in [
        ("url.hosd == 'a'", ["column 1", "url.host"]),
        ("link.depth + 1.5", ["column", "double"]),
        ("url.path.matches('(')", ["column 18", "unclosed group"]),
        ("", ["empty", ""]),
    ] {
        let (_, stderr) = expect(&dir, &["check-expression", condition, "http://a.org/"], 64);
        assert!(reasons.iter().all(|reason| stderr.contains(reason)), "{condition}: {stderr}");
    }
    let set = "links.admit=url.hosd == 'a'";
    let (_, stderr) = expect(&dir, &["crawl", "http://a.org/", "--set", set], 64);
    assert!(stderr.contains("links.admit") && stderr.contains("column 1"), "{stderr}");
    assert!(!dir.join("crawl").exists(), "a rejected crawl was started");
}
