//! Tests of links in style sheets, in separate files and within pages.

use super::Case;
use proptest::prelude::*;

fn sheet(text: impl AsRef<[u8]>) -> Case {
    wanting(Case::new(text).header("content-type", "text/css; charset=utf-8"))
}

fn wanting(case: Case) -> Case {
    case.settings(|s| {
        s.live.links.images = true;
        s.live.links.scripts = true;
    })
}

#[test]
fn imports_and_urls_are_found_in_all_their_spellings() {
    for (text, expected) in [
        (r#"@import "a.css";"#, vec!["a.css"]),
        ("@IMPORT'a.css' screen;", vec!["a.css"]),
        ("@import/**/url( a.css );", vec!["a.css"]),
        ("@import url('a b.css') layer(x);@import \"c.css\"", vec!["a b.css", "c.css"]),
        ("p { background: URL(x.png) no-repeat, url(\"y.png\") }", vec!["x.png", "y.png"]),
        ("@font-face { src: url(f.woff2?v=1#iefix) format('woff2') }", vec!["f.woff2?v=1"]),
        (r"a { b: url(a\)b.png) } c { d: url('\66\6f o.png') }", vec!["a)b.png", "foo.png"]),
        ("a { b: url( \n x.png \t) }", vec!["x.png"]),
        ("@charset \"utf-8\"; a { b: url(ü.png) }", vec!["ü.png"]),
        ("url(last.png", vec!["last.png"]),
    ] {
        assert_eq!(sheet(text).read().hrefs, expected, "{text}");
    }
}

#[test]
fn what_is_no_reference_is_left_alone() {
    for text in [
        "/* @import 'a.css'; url(x.png) */",
        "a { content: \"url(x.png)\" }",
        "a { content: '\\'url(x.png)' }",
        "a { b: url(data:image/png;base64,AAAA) url(#shape) url() }",
        "a { b: my-url(x.png) curl(x.png) }",
        "@namespace svg url(http://www.w3.org/2000/svg);",
        "@import;",
        "@important 'a.css'",
        "",
        "\\",
        "\"",
        "@import \"",
    ] {
        let hrefs = sheet(text).read().hrefs;
        assert!(hrefs.iter().all(String::is_empty), "{text}: {hrefs:?}");
    }
}

#[test]
fn a_page_s_own_style_is_read_against_the_page_s_base() {
    let page =
        "<base href=/b/><style>@import 'a.css'; p { background: url(x.png) }</style><a href=y>";
    let icon = "http://host.example/favicon.ico";
    wanting(Case::html(page)).links_to(&["a.css", "x.png", "y", icon]);
    Case::html(page).links_to(&["y"]);
}

#[test]
fn images_and_sheets_are_wanted_apart() {
    let text = "@import 'a.css'; p { background: url(x.png) }";
    let read = |images, scripts| {
        let case = sheet(text)
            .settings(|s| (s.live.links.images, s.live.links.scripts) = (images, scripts));
        case.read().hrefs
    };
    assert_eq!(read(true, false), ["x.png"]);
    assert_eq!(read(false, true), ["a.css"]);
    assert!(read(false, false).is_empty());
}

proptest! {
    #[test]
    fn nothing_panics(text in "(url\\(|@import |[\"'\\\\()/*; \n]|é|[a-f0-9]{0,3}){0,40}") {
        sheet(text).read();
    }

    #[test]
    fn a_quoted_reference_comes_back_as_it_was(name in "[a-zé0-9 ()\"'\\\\]{0,20}") {
        let escaped: String = name.chars().map(|c| format!("\\{:x} ", u32::from(c))).collect();
        let read = sheet(format!("a {{ b: url(\"x{escaped}x\") }}")).read();
        prop_assert_eq!(read.hrefs, [format!("x{name}x")]);
    }
}
