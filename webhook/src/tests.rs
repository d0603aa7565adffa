//! A receiver that refuses, hangs, redirects and breaks off: each capture arrives, once, in order and signed.

use crate::sender::Times;
use crate::{WebhookSecret, WebhookSender, WebhookSource};
use crivello_archive::ArchivePosition;
use crivello_common::time::Clock;
use data_encoding::BASE64;
use ring::hmac;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NAME: &str = "crivello-00000001-20261128000000-00000";
const TIMES: Times =
    Times { request: Duration::from_millis(500), pause_first: Duration::from_millis(5) };
const PATIENCE: Duration = Duration::from_secs(30);

/// One answer of the receiver.
#[derive(Clone)]
enum Answer {
    Status(&'static str),
    Redirect(String),
    Hang,
    Close,
}

#[derive(Default)]
struct Receiver {
    /// Answers to the next requests; then all are received.
    script: Mutex<VecDeque<Answer>>,
    /// Ids, and URLs of the captures, of all requests that were answered with success.
    received: Mutex<Vec<(String, Vec<String>)>>,
    /// Ids of all requests.
    ids: Mutex<Vec<String>>,
}

impl Receiver {
    async fn start(script: &[Answer]) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let this = Arc::new(Self { script: Mutex::new(script.to_vec().into()), ..Self::default() });
        let receiver = Arc::clone(&this);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let receiver = Arc::clone(&receiver);
                tokio::spawn(async move { receiver.serve(stream).await });
            }
        });
        (this, url)
    }

    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let (headers, body) = read(&mut stream).await?;
            let answer = self.script.lock().unwrap().pop_front();
            let (id, urls) = verified(&headers, &body);
            self.ids.lock().unwrap().push(id.clone());
            let status = match answer {
                None => {
                    self.received.lock().unwrap().push((id, urls));
                    "204 No Content".to_owned()
                }
                Some(Answer::Status(status)) => format!("{status}\r\ncontent-length: 0"),
                Some(Answer::Redirect(to)) => {
                    format!("307 Temporary Redirect\r\nlocation: {to}\r\ncontent-length: 0")
                }
                Some(Answer::Hang) => std::future::pending().await,
                Some(Answer::Close) => return None,
            };
            stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.ok()?;
        }
    }

    fn urls(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().flat_map(|(_, urls)| urls.clone()).collect()
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<(HashMap<String, String>, String)> {
    let (mut headers, mut line) = (HashMap::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None if line.trim_end().is_empty() => break,
            None => continue,
        };
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    Some((headers, String::from_utf8(body).unwrap()))
}

/// Verifies the signature of a message, and returns its id and the URLs of its captures.
fn verified(headers: &HashMap<String, String>, body: &str) -> (String, Vec<String>) {
    let key = BASE64.decode(SECRET.trim_start_matches("whsec_").as_bytes()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let (id, at) = (&headers["webhook-id"], &headers["webhook-timestamp"]);
    let tag = headers["webhook-signature"].strip_prefix("v1,").unwrap();
    let tag = BASE64.decode(tag.as_bytes()).unwrap();
    hmac::verify(&key, format!("{id}.{at}.{body}").as_bytes(), &tag).expect("the signature");
    assert!(hmac::verify(&key, format!("{id}.{at}.{body} ").as_bytes(), &tag).is_err());
    let now = Clock::start().now().as_secs();
    assert!(at.parse::<u64>().unwrap().abs_diff(now) < 60, "{at}");
    let message: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&message["crawl"], &message["agent"]), (&"c".into(), &3.into()));
    let captures = message["captures"].as_array().unwrap();
    (id.clone(), captures.iter().map(|c| c["url"].as_str().unwrap().to_owned()).collect())
}

/// An archive of lines alone.
struct Archive {
    part: PathBuf,
    index: File,
    end: watch::Sender<Option<ArchivePosition>>,
}

impl Archive {
    fn new(dir: &Path) -> Self {
        fs::write(dir.join(format!("{NAME}.warc.gz")), "").unwrap();
        let part = dir.join(format!("{NAME}.cdxj.part"));
        let index = OpenOptions::new().create(true).append(true).open(&part).unwrap();
        let this = Self { part, index, end: watch::Sender::new(None) };
        this.publish();
        this
    }

    fn add(&mut self, numbers: std::ops::Range<u64>) {
        for n in numbers {
            let line = format!(
                "com,a)/{n} 20261128000000 {{\"url\": \"http://a.com/{n}\", \"offset\": \"{}\"}}\n",
                n * 100
            );
            self.index.write_all(line.as_bytes()).unwrap();
        }
        self.publish();
    }

    /// Publishes the end of records of 100 bytes, of which the index has lines.
    fn publish(&self) {
        let index = fs::read(&self.part).unwrap();
        let warc_len = 100 * (1 + index.iter().filter(|&&byte| byte == b'\n').count() as u64);
        let (file, index_len) = (format!("{NAME}.warc.gz"), index.len() as u64);
        self.end.send_replace(Some(ArchivePosition { file, warc_len, index_len }));
    }

    fn webhook(&self, dir: &Path, url: &str) -> WebhookSender {
        let source = WebhookSource {
            crawl_id: "c".to_owned(),
            agent: 3,
            archive: dir.to_owned(),
            end: self.end.subscribe(),
            place_file: dir.join("webhook.place"),
        };
        let secret = WebhookSecret::read(None, Some(SECRET.into())).unwrap();
        let clock = Clock::start();
        WebhookSender::start_with(&Handle::current(), (url, secret), source, (clock, TIMES))
            .unwrap()
    }
}

fn urls(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers.map(|n| format!("http://a.com/{n}")).collect()
}

#[tokio::test]
async fn a_receiver_that_fails_gets_each_batch_again_with_the_same_id() {
    let dir = tempfile::tempdir().unwrap();
    let (elsewhere, target) = Receiver::start(&[]).await;
    let script = [
        Answer::Status("500 Internal Server Error"),
        Answer::Hang,
        Answer::Redirect(target),
        Answer::Close,
        Answer::Status("429 Too Many Requests"),
    ];
    let (receiver, url) = Receiver::start(&script).await;
    let mut archive = Archive::new(dir.path());
    let mut webhook = archive.webhook(dir.path(), &url);
    assert!(webhook.flush(PATIENCE).await);
    archive.add(1..2_501);
    assert!(webhook.flush(PATIENCE).await);
    assert_eq!(receiver.urls(), urls(1..2_501));
    let ids = receiver.ids.lock().unwrap().clone();
    assert_eq!(ids.len(), script.len() + 3, "{ids:?}");
    assert!(ids[..=script.len()].iter().all(|id| *id == ids[0]), "{ids:?}");
    assert!(elsewhere.ids.lock().unwrap().is_empty(), "a redirect was followed");
}

#[tokio::test]
async fn a_restart_goes_on_after_the_last_batch_that_was_received() {
    let dir = tempfile::tempdir().unwrap();
    let (receiver, url) = Receiver::start(&[]).await;
    let mut archive = Archive::new(dir.path());
    archive.add(1..10);
    // Without a place it begins now.
    let mut webhook = archive.webhook(dir.path(), &url);
    assert!(webhook.flush(PATIENCE).await);
    assert_eq!(receiver.urls(), urls(0..0));
    archive.add(10..20);
    assert!(webhook.flush(PATIENCE).await);
    drop((webhook, archive));
    let mut archive = Archive::new(dir.path());
    archive.add(20..30);
    let mut webhook = archive.webhook(dir.path(), &url);
    assert!(webhook.flush(PATIENCE).await);
    assert_eq!(receiver.urls(), urls(10..30));
}

#[tokio::test]
async fn an_archive_that_cannot_be_read_for_a_while_loses_no_capture() {
    let dir = tempfile::tempdir().unwrap();
    let (receiver, url) = Receiver::start(&[]).await;
    let mut archive = Archive::new(dir.path());
    let mut webhook = archive.webhook(dir.path(), &url);
    assert!(webhook.flush(PATIENCE).await);
    let (part, hidden) = (archive.part.clone(), dir.path().join("hidden"));
    fs::rename(&part, &hidden).unwrap();
    fs::create_dir(&part).unwrap();
    archive.part.clone_from(&hidden);
    archive.add(1..10);
    assert!(!webhook.flush(Duration::from_millis(200)).await);
    assert_eq!(receiver.urls(), urls(0..0));
    fs::remove_dir(&part).unwrap();
    fs::rename(&hidden, &part).unwrap();
    assert!(webhook.flush(PATIENCE).await);
    assert_eq!(receiver.urls(), urls(1..10));
}

#[tokio::test]
async fn a_receiver_that_is_not_there_delays_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = Archive::new(dir.path());
    let mut webhook = archive.webhook(dir.path(), "http://127.0.0.1:9/");
    assert!(webhook.flush(PATIENCE).await);
    archive.add(1..10);
    assert!(!webhook.flush(Duration::from_millis(300)).await);
    for bad in ["", "ftp://a.example/", "http://", "http://me@a.example/"] {
        let secret = WebhookSecret::read(None, Some(SECRET.into())).unwrap();
        let client = crate::client::MessageClient::new(bad, secret, TIMES.request);
        assert!(client.is_err(), "{bad}");
    }
}
