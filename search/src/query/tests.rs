use super::*;

#[test]
fn queries_are_parsed() {
    for (text, tree) in [
        ("a", r#""a""#),
        ("A B", r#"("a" "b")"#),
        ("a b | c", r#"(("a" "b") | "c")"#),
        ("a (b | -c)", r#"("a" ("b" | -"c"))"#),
        ("-a", r#"-"a""#),
        ("\"New York\"", r#""new york""#),
        ("x-ray", r#""x ray""#),
        ("[b a]~8", "[b a]~8"),
        ("[a]~8", r#""a""#),
        ("crawl*", "crawl*"),
        ("title:Crawl*", "title:crawl*"),
        ("title:(a | \"b c\")", r#"(title:"a" | title:"b c")"#),
        ("title:[a b]~2", "title:[a b]~2"),
        ("anchor:(a | \"b c\") anchor:d*", r#"((anchor:"a" | anchor:"b c") anchor:d*)"#),
        ("site:WWW.Example.org", "site:www.example.org"),
        ("site:*.bücher.example", "site:xn--bcher-kva.example"),
        ("lang:EN a", r#"(lang:eng "a")"#),
        ("-site:a.org l'eau", r#"(-site:a.org "l eau")"#),
        ("日本", r#""日 本""#),
    ] {
        let query = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(query.to_string(), tree, "{text}");
        assert_eq!(parse(tree).unwrap(), query, "{text}");
    }
}

#[test]
fn errors_have_a_place() {
    for (text, at, problem) in [
        ("", 0, "a word is missing"),
        ("a | ", 4, "a word is missing"),
        ("é (b", 2, "`(` is not closed"),
        ("a) b", 1, "`)` closes nothing"),
        ("a \"b", 2, "`\"` is not closed"),
        ("[a b", 0, "`[` is not closed"),
        ("[a b]", 5, "`~` and the number"),
        ("[a b]~0", 5, "a window has"),
        ("[a b c]~2", 0, "3 words do not fit"),
        ("a - b", 3, "a word is missing after `-`"),
        ("a --b", 3, "a word is missing after `-`"),
        ("!!", 0, "no word is in `!!`"),
        ("x-y*", 0, "only one word"),
        ("foo:bar", 0, "`foo:` is no field"),
        ("title: a", 6, "nothing is after `title:`"),
        ("site:", 5, "nothing is after `site:`"),
        ("site:a/b", 5, "`site:` takes a host"),
        ("lang:english", 5, "`lang:` takes a code"),
        ("a ] b", 2, "`]` where a word is due"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.problem.starts_with(problem) && error.at == at, "{text}: {error:?}");
    }
    assert!(parse(&"(".repeat(100)).is_err() && parse(&"a ".repeat(3_000)).is_err());
    assert!(parse(&"a ".repeat(200)).is_err());
}

#[test]
fn any_text_is_a_query_or_an_error() {
    let mut rng = crate::tests::rng();
    let parts =
        ["a", "b", " ", "-", "(", ")", "|", "\"", "[", "]~", "5", "*", ":", "title:", "é", "'"];
    for _ in 0..20_000 {
        let n = rand::Rng::random_range(&mut rng, 0..12);
        let text: String =
            (0..n).map(|_| parts[rand::Rng::random_range(&mut rng, 0..parts.len())]).collect();
        if let Ok(query) = parse(&text) {
            let again = query.to_string();
            assert_eq!(parse(&again).as_ref(), Ok(&query), "{text:?}, {again:?}");
        }
    }
}
