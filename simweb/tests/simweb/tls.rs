//! Tests of https hosts: the same port, HTTP/2 or HTTP/1.1 by ALPN, valid certificates.

use reqwest::{Certificate, Client, StatusCode, Version};
use simweb::{Character, Manner, SimWeb, Spec};

pub fn client(web: &SimWeb, http2: bool) -> Client {
    let pem = web.authority_pem().expect("an authority");
    let root = Certificate::from_pem(pem.as_bytes()).expect("a certificate");
    let mut builder = Client::builder().no_proxy().tls_certs_only([root]);
    for id in 0..web.world().names().len() {
        let host = simweb::names::HostRef::new(id);
        let name = web.world().names().name(host).to_string();
        builder = builder.resolve(&name, (web.world().names().ip(id), web.port()).into());
    }
    let builder = if http2 { builder } else { builder.http1_only() };
    builder.build().expect("a client")
}

#[tokio::test]
async fn https_hosts_speak_both_versions_and_verify() {
    // Another test of this process may have installed the provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let broken = Character::named("b").manner(Manner::ResetInBody);
    let broken = Character { tls: Some(true), ..broken };
    let spec = Spec::new(3).tls(1.0).host("broken.test", broken);
    let web = SimWeb::start(spec).await.expect("a web");
    let url = format!("https://h0.site0.test:{}/s1/p1.html", web.port());
    let at = web.world().find(&url).expect("a place");
    let wanted = simweb::page::html(web.world(), at);
    for (http2, version) in [(true, Version::HTTP_2), (false, Version::HTTP_11)] {
        let client = client(&web, http2);
        let mut response = client.get(&url).send().await.expect("an answer");
        assert_eq!((response.status(), response.version()), (StatusCode::OK, version));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.expect("a chunk") {
            body.extend_from_slice(&chunk);
        }
        assert_eq!(String::from_utf8_lossy(&body), wanted);
        let url = format!("https://broken.test:{}/", web.port());
        // Over HTTP/2 the reset may overtake the head.
        let failed = match client.get(&url).send().await {
            Err(_) => true,
            Ok(mut response) => loop {
                match response.chunk().await {
                    Ok(Some(_)) => {}
                    Ok(None) => break false,
                    Err(_) => break true,
                }
            },
        };
        assert!(failed, "the body of a broken host was complete over {version:?}");
    }
    let log = web.shutdown().await;
    assert_eq!(log.iter().filter(|e| e.complete && e.tls && e.host == "h0.site0.test").count(), 2);
    assert_eq!(log.iter().filter(|e| !e.complete && e.host == "broken.test").count(), 2);
}
