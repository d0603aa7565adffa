//! `GoogleOnly_DocumentationChecks` of Google's `robots_test.cc`: the table "URL matching based on
//! path values" of its documentation for site owners.

use super::check;

fn check_fish(rule: &str, allowed: &[&str], disallowed: &[&str]) {
    let robots = format!("user-agent: FooBot\ndisallow: /\nallow: {rule}\n");
    for (paths, expected) in [(allowed, true), (disallowed, false)] {
        for path in paths {
            check(&robots, &[("FooBot", path, expected)]);
        }
    }
}

#[test]
fn a_prefix_with_or_without_a_star() {
    for rule in ["/fish", "/fish*"] {
        check_fish(
            rule,
            &[
                "/fish",
                "/fish.html",
                "/fish/salmon.html",
                "/fishheads",
                "/fishheads/yummy.html",
                "/fish.html?id=anything",
            ],
            &["/bar", "/Fish.asp", "/Fish.bar", "/catfish", "/?id=fish"],
        );
    }
}

#[test]
fn a_directory() {
    check_fish(
        "/fish/",
        &["/fish/", "/fish/salmon", "/fish/?salmon", "/fish/salmon.html", "/fish/?id=anything"],
        &["/bar", "/fish", "/fish.html", "/Fish/Salmon.html"],
    );
}

#[test]
fn an_extension() {
    check_fish(
        "/*.php",
        &[
            "/filename.php",
            "/folder/filename.php",
            "/folder/filename.php?parameters",
            "//folder/any.php.file.html",
            "/filename.php/",
            "/index?f=filename.php/",
        ],
        &["/bar", "/php/", "/index?php", "/windows.PHP"],
    );
}

#[test]
fn an_extension_at_the_end() {
    check_fish(
        "/*.php$",
        &["/filename.php", "/folder/filename.php"],
        &[
            "/bar",
            "/filename.php?parameters",
            "/filename.php/",
            "/filename.php5",
            "/php/",
            "/filename?php",
            "/aaaphpaaa",
            "//windows.PHP",
        ],
    );
}

#[test]
fn a_prefix_and_an_extension() {
    check_fish(
        "/fish*.php",
        &["/fish.php", "/fishheads/catfish.php?parameters"],
        &["/bar", "/Fish.PHP"],
    );
}

#[test]
fn order_of_precedence() {
    for (rules, path, expected) in [
        ("allow: /p\ndisallow: /\n", "/page", true),
        ("allow: /folder\ndisallow: /folder\n", "/folder/page", true),
        ("allow: /page\ndisallow: /*.htm\n", "/page.htm", false),
        ("allow: /$\ndisallow: /\n", "/", true),
        ("allow: /$\ndisallow: /\n", "/page.html", false),
    ] {
        check(&format!("user-agent: FooBot\n{rules}"), &[("FooBot", path, expected)]);
    }
}
