//! Benchmark of evaluating and compiling one expression. Targets for one link: 300 ns for a host
//! or prefix test, 1 µs for a typical filter.

use criterion::{Criterion, criterion_group, criterion_main};
use crivello_expressions::{Expression, Field, FieldReader, FieldValue, ValueType};
use std::hint::black_box;

const fn field(name: &'static str, value_type: ValueType) -> Field {
    Field { name, value_type, doc: "" }
}

const FIELDS: [Field; 6] = [
    field("url.host", ValueType::String),
    field("url.path", ValueType::String),
    field("url.query", ValueType::String),
    field("url.length", ValueType::Int),
    field("link.depth", ValueType::Int),
    field("link.nofollow", ValueType::Bool),
];

/// A link as a crawler would have it.
struct Link {
    host: String,
    path: String,
    query: String,
    length: usize,
    depth: u16,
    is_nofollow: bool,
}

impl FieldReader for Link {
    fn field(&self, index: usize) -> Option<FieldValue<'_>> {
        Some(match index {
            0 => FieldValue::String(&self.host),
            1 => FieldValue::String(&self.path),
            2 => FieldValue::String(&self.query),
            3 => FieldValue::Int(i64::try_from(self.length).unwrap_or(i64::MAX)),
            4 => FieldValue::Int(self.depth.into()),
            5 => FieldValue::Bool(self.is_nofollow),
            _ => return None,
        })
    }
}

const TYPICAL: &str = r#"link.depth < 8 && !link.nofollow && url.host.endsWith(".example.org")
    && !url.path.contains("/calendar/") && url.length < 200
    && (url.query == "" || !url.query.contains("sessionid="))"#;

fn evaluate(c: &mut Criterion) {
    let link = Link {
        host: "www.news.example.org".into(),
        path: "/archive/2026/11/25/a-headline-of-the-usual-length-with-some-words.html".into(),
        query: "page=2&sort=newest".into(),
        length: 120,
        depth: 4,
        is_nofollow: false,
    };
    let hosts: Vec<_> = (0..1_000).map(|n| format!("'host-{n:04}.example.org'")).collect();
    let host_list = format!("url.host in [{}, 'www.news.example.org']", hosts.join(","));
    for (name, text) in [
        ("host", "url.host == 'www.news.example.org'"),
        ("host suffix", "url.host.endsWith('.example.org')"),
        ("host in 1,001", &host_list),
        ("prefix", "url.path.startsWith('/archive/2026/')"),
        ("contains", "url.path.contains('with-some-words')"),
        ("typical filter", TYPICAL),
        ("regex, anchored", r"url.path.matches(r'^/[a-z]+/[0-9]{4}/[0-9]{2}/')"),
        ("regex, alternatives", r"url.path.matches('(login|logout|cart|checkout|print)')"),
    ] {
        let expression = Expression::compile(text, &FIELDS, ValueType::Bool).expect(name);
        c.bench_function(name, |b| b.iter(|| expression.bool(black_box(&link))));
    }
    let text = "url.length / 4 + link.depth * 10 + (url.path.contains('news') ? 0 : 50)";
    let expression = Expression::compile(text, &FIELDS, ValueType::Int).expect(text);
    c.bench_function("priority", |b| b.iter(|| expression.int(black_box(&link))));
    c.bench_function("compile the typical filter", |b| {
        b.iter(|| Expression::compile(black_box(TYPICAL), &FIELDS, ValueType::Bool));
    });
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
