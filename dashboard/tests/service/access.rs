//! Access control, over real connections.

use super::scene::Scene;
use crivello_common::runtime::Token;
use crivello_dashboard::Options;
use crivello_proto::LiveToken;
use std::time::Duration;
use tokio::time::sleep;

const SECRET: &str = "a-secret-of-24-letters-x";

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_whole_and_strict() {
    let scene = Scene::start(Options::default()).await;
    for (path, kind) in
        [("/", "text/html"), ("/main.js", "text/javascript"), ("/base.css", "text/css")]
    {
        let reply = scene.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.head.contains(&format!("content-type: {kind}")), "{}", reply.head);
        for header in
            ["content-security-policy: default-src 'none'", "x-content-type-options: nosniff"]
        {
            assert!(reply.head.contains(header), "{}", reply.head);
        }
        assert!(!reply.head.contains("access-control"), "{}", reply.head);
    }
    let reply = scene.ask("GET / HTTP/1.1\r\nHost: evil.example\r\n", "").await;
    assert_eq!(reply.status, 421, "{reply:?}");
    assert!(reply.body.contains("--http-host"), "{reply:?}");
    let form = "POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
    assert_eq!(scene.ask(form, r#"{"run": "paused"}"#).await.status, 415);
    let foreign = "POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nOrigin: http://evil.example\r\n";
    assert_eq!(scene.ask(foreign, r#"{"run": "paused"}"#).await.status, 403);
    let cluster = scene.until(|_| true).await;
    assert_eq!(cluster["run"], "running", "a rejected request paused the crawl");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_asked_for_and_taken() {
    let token = Some(Token::parse(SECRET).expect("a valid token").into());
    let scene = Scene::start(Options { token, ..Options::default() }).await;
    let home = scene.get("/").await;
    assert_eq!(home.status, 303, "{home:?}");
    assert!(home.head.contains("location: /login"), "{home:?}");
    assert_eq!(scene.get("/api/cluster").await.status, 401);
    assert_eq!(scene.get("/metrics").await.status, 401);
    assert_eq!(scene.get("/healthz").await.status, 200);
    assert_eq!(scene.get("/login").await.status, 200);
    assert_eq!(scene.post("/api/run", r#"{"run": "paused"}"#).await.status, 401);

    let bearer = format!("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {SECRET}\r\n");
    assert_eq!(scene.ask(&bearer, "").await.status, 200);
    let wrong = scene.post("/api/login", r#"{"token": "a-secret-of-24-letters-y"}"#).await;
    assert_eq!(wrong.status, 401, "{wrong:?}");
    assert!(!wrong.head.contains("set-cookie"), "{wrong:?}");
    let right = scene.post("/api/login", &format!(r#"{{"token": " {SECRET} "}}"#)).await;
    assert_eq!(right.status, 200, "{right:?}");
    let cookie = right.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.expect("a cookie");
    assert!(cookie.contains("httponly; samesite=strict") && !cookie.contains(SECRET), "{cookie}");
    let (cookie, _) = cookie.split_once(';').expect("attributes");
    let with = format!("GET / HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n");
    assert_eq!(scene.ask(&with, "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_is_refused() {
    let scene = Scene::start(Options::default()).await;
    let long = format!(r#"{{"agent": "{}"}}"#, "x".repeat(100_000));
    assert_eq!(scene.post("/api/drain", &long).await.status, 413);
    let head = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n", "x".repeat(100_000));
    assert_eq!(scene.ask(&head, "").await.status, 431);
    let text = "x".repeat(9_000);
    assert_eq!(scene.get(&format!("/api/why?text={text}")).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_changed_shuts_the_old_one_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("token");
    std::fs::write(&file, SECRET).expect("written");
    let token = Some(LiveToken::load(&file).expect("a token"));
    let scene = Scene::start(Options { token, ..Options::default() }).await;
    let log_in =
        async |secret: &str| scene.post("/api/login", &format!(r#"{{"token": "{secret}"}}"#)).await;
    let old = log_in(SECRET).await;
    let cookie = old.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.and_then(|line| line.split(';').next()).expect("a cookie").to_owned();
    let with = format!("GET /api/history HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n");
    assert_eq!(scene.ask(&with, "").await.status, 200);

    let other = SECRET.replace('a', "b");
    std::fs::write(&file, &other).expect("written");
    let mut tries = 0;
    while scene.ask(&with, "").await.status != 401 {
        tries += 1;
        assert!(tries < 200, "the old token is still accepted");
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(log_in(SECRET).await.status, 401);
    assert_eq!(log_in(&other).await.status, 200);
}
