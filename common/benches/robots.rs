//! Benchmark of parsing and matching a robots.txt: a small file, 1,000 rules, a wildcard bomb, and
//! a file full of wildcard bombs.
#![allow(missing_docs, reason = "criterion's macros generate undocumented items")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use crivello_common::robots::Rules;
use std::hint::black_box;

const SMALL: &str = "User-agent: *\nDisallow: /admin/\nDisallow: /*?sort=\nDisallow: /*.pdf$\n\
    Allow: /admin/help\nCrawl-delay: 2\nSitemap: https://e.example/sitemap.xml\n";

fn thousand() -> String {
    let rule = |i: u32| match i % 10 {
        0 => format!("Disallow: /*?filter{i}=\n"),
        1 => format!("Allow: /section/{i}/open$\n"),
        _ => format!("Disallow: /section/{i}/closed\n"),
    };
    format!("User-agent: *\n{}", (0..1_000).map(rule).collect::<String>())
}

fn bomb(rules: usize) -> String {
    let rule = format!("Disallow: /{}b\n", "*a".repeat(30));
    let rules: String = (0..rules).map(|i| rule.replace("/*", &format!("/*{i}*"))).collect();
    format!("User-agent: *\n{rules}")
}

fn robots(c: &mut Criterion) {
    let long = format!("/{}", "a".repeat(2_000));
    let long_with_b = format!("/b0123456789{}", "a".repeat(2_000));
    let (thousand, bomb, bombs) = (thousand(), bomb(1), bomb(7_000));
    for (name, body, paths) in [
        ("small", SMALL, ["/products/1234/index.html", "/admin/x?sort=up"]),
        ("thousand", &thousand, ["/section/777/closed/a.html", "/other/page?filter990=1"]),
        ("bomb", &bomb, [&long, &long_with_b]),
        ("bombs", &bombs, [&long, &long_with_b]),
    ] {
        let parse = |body: &str| Rules::parse(body.as_bytes(), "crivello");
        c.bench_function(&format!("robots/parse/{name}"), |b| {
            b.iter(|| parse(black_box(body)));
        });
        let rules = parse(body);
        for (i, path) in paths.into_iter().enumerate() {
            c.bench_function(&format!("robots/match/{name}/{i}"), |b| {
                b.iter(|| rules.allows(black_box(path)));
            });
        }
        let bytes = rules.to_bytes();
        c.bench_function(&format!("robots/decode/{name}"), |b| {
            b.iter_batched(|| &bytes, |bytes| Rules::from_bytes(bytes), BatchSize::SmallInput);
        });
    }
}

criterion_group!(benches, robots);
criterion_main!(benches);
