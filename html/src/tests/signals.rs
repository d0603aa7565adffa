//! Tests of the signals of pages and their headers.

use super::Case;

/// Checks the fields of a response, each as `name=value`.
#[track_caller]
fn check(case: &Case, wanted: &[&str]) {
    let fields = case.read().signals.fields();
    let fields: Vec<_> = fields.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(fields, wanted, "{:?} {}", case.headers, case.body.escape_ascii());
}

#[test]
fn a_page_without_signals_has_none() {
    check(&Case::html("<meta name=robots content='index, follow'><a href=x>"), &[]);
    check(&Case::html("").header("link", "<x>; rel=next, <y>; rel=license"), &[]);
}

#[test]
fn directives_of_headers_and_pages_add_up() {
    let page = "<meta name=robots content='noarchive, max-snippet:50'>\
        <meta name=crivello content='max-snippet:20'><meta name=other content=noindex>";
    let case = Case::html(page)
        .header("x-robots-tag", "noimageindex, max-snippet:90")
        .header("x-robots-tag", "other: noindex")
        .header("x-robots-tag", "crivello: noai");
    check(&case, &["robots=noarchive, noimageindex, noai, max-snippet:20"]);
}

#[test]
fn headers_count_for_any_status_and_format() {
    for status in [200, 206, 301, 304, 404, 503] {
        let case = Case::new("%PDF").status(status).header("content-type", "application/pdf");
        let case = case.header("x-robots-tag", "noarchive").header("location", "/x");
        check(&case, &["robots=noarchive"]);
    }
    let page = "<meta name=robots content=noarchive>";
    check(&Case::html(page).status(404), &[]);
}

#[test]
fn usage_headers_are_one_dictionary() {
    for (lines, wanted) in [
        (&["train-ai=n"][..], &["usageTrainAi=disallow"][..]),
        (&["train-ai=n, search=y"], &["usageTrainAi=disallow", "usageSearch=allow"]),
        (&["train-ai=n", "search=y"], &["usageTrainAi=disallow", "usageSearch=allow"]),
        (&["train-ai=n", "train-ai=y"], &["usageTrainAi=allow"]),
        (&["train-ai=n", "search="], &[]),
        (&[""], &[]),
        (&["caf\u{e9}"], &[]),
    ] {
        let case =
            lines.iter().fold(Case::html(""), |case, line| case.header("content-usage", line));
        check(&case, wanted);
    }
}

#[test]
fn the_page_precedes_its_headers_in_tdm_rights() {
    let header = |page: &str, reservation: &str| {
        let case = Case::html(page).header("tdm-reservation", reservation);
        case.header("tdm-policy", "https://a.test/header.json")
    };
    let of_header = &["tdmReservation=1", "tdmPolicy=https://a.test/header.json"][..];
    check(&header("", "1"), of_header);
    check(&header("", "0"), &["tdmReservation=0"]);
    check(&header("", "yes"), &[]);
    check(&Case::html("").header("tdm-policy", "https://a.test/header.json"), &[]);
    check(&header("<meta name=tdm-reservation content=0>", "1"), &["tdmReservation=0"]);
    check(&header("<meta name=tdm-reservation content=2>", "1"), of_header);
    check(&header("<meta name=tdm-policy content=/p.json>", "1"), of_header);
    let page = "<base href=/b/><meta name='TDM-Reservation' content=' 1 '>\
        <meta name=tdm-policy content=p.json>";
    let wanted = ["tdmReservation=1", "tdmPolicy=http://host.example/b/p.json"];
    check(&header(page, "0"), &wanted);
    check(&Case::html(page), &wanted);
}

#[test]
fn links_to_licenses_have_their_media_type() {
    let header = "<https://a.test/l.xml>; rel=\"license\"; type=\"application/rsl+xml\", \
        <https://a.test/cc>; rel=license, </r.xml>; type=application/rsl+xml; rel=license";
    let case = Case::html("").header("link", header);
    check(&case, &["license=https://a.test/l.xml", "license=http://host.example/r.xml"]);
    let page = "<base href=/b/><link rel=license type='Application/RSL+XML' href=l.xml>\
        <link rel=license href=cc><link rel=license type=text/html href=cc>\
        <link rel='license next' type=application/rsl+xml href='https://c.test/&amp;'>\
        <link rel=license type=application/rsl+xml href='javascript:x'>";
    let wanted = ["license=http://host.example/b/l.xml", "license=https://c.test/&"];
    check(&Case::html(page), &wanted);
    Case::html(page).links_to(&["https://c.test/&"]);
}

#[test]
fn signals_of_one_page_are_not_those_of_the_next() {
    let page = "<meta name=robots content=noarchive><meta name=tdm-reservation content=1>\
        <link rel=license type=application/rsl+xml href=/l>";
    let mut parser =
        super::Parser::new(&Case::html("").settings.fixed, &Case::html("").settings.live);
    assert!(!Case::html(page).read_with(&mut parser).signals.fields().is_empty());
    assert!(Case::html("").read_with(&mut parser).signals.fields().is_empty());
}

#[test]
fn hostile_signals_are_bounded() {
    let long = "x".repeat(1 << 20);
    let page = format!(
        "<meta name=robots content='unavailable_after: {long}, noindex'>\
         <meta name=tdm-reservation content={long}><meta name=tdm-policy content={long}>{}",
        format!("<link rel=license type=application/rsl+xml href=/{long}>").repeat(3),
    );
    check(&Case::html(page), &["robots=noindex"]);
    let links: String = (0..1_000)
        .map(|n| format!("<link rel=license type=application/rsl+xml href=/{n}>"))
        .collect();
    assert_eq!(Case::html(links).read().signals.fields().len(), 4);
}
