//! Cost of the signature of a request: a new one; one that is kept for its authority; the same with the headers of
//! the request and their lines for the archive.

use criterion::{Criterion, criterion_group, criterion_main};
use crivello_common::config::SignatureAgentForm;
use crivello_common::time::Timestamp;
use crivello_http_signatures::{PrivateKey, RequestSigner};
use http::HeaderMap;
use std::hint::black_box;

fn sign(c: &mut Criterion) {
    let key = PrivateKey::draw().ok().and_then(|pem| PrivateKey::parse(&pem)).expect("a key");
    let form = SignatureAgentForm::default();
    let signer = RequestSigner::new(key, "https://bot.example", form).expect("a URL");
    let names: Vec<_> = (0..1_000).map(|n| format!("www{n}.example.com")).collect();
    let mut next = 0;
    c.bench_function("signature/kept", |b| {
        b.iter(|| {
            next = (next + 1) % names.len();
            black_box(signer.headers(&names[next], Timestamp::from_secs(1_000)))
        });
    });
    c.bench_function("signature/kept with headers and lines", |b| {
        b.iter(|| {
            next = (next + 1) % names.len();
            let signed = signer.headers(&names[next], Timestamp::from_secs(1_000));
            let mut map = HeaderMap::with_capacity(8);
            map.extend(signed.iter().map(|(name, value)| (name, value.clone())));
            let mut lines = Vec::new();
            for (name, value) in signed.iter() {
                for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                    lines.extend_from_slice(part);
                }
            }
            black_box((map, lines))
        });
    });
    let mut secs = 10_000;
    c.bench_function("signature/new", |b| {
        b.iter(|| {
            secs += 10_000;
            black_box(signer.headers("www.example.com", Timestamp::from_secs(secs)))
        });
    });
}

criterion_group!(benches, sign);
criterion_main!(benches);
