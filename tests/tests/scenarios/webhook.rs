//! The webhook of a crawl: a receiver that fails at first gets each capture once, with signatures that another
//! program verifies, over a restart of the crawl; the secret appears nowhere.

use crate::python;
use crivello_tests::warc::listed;
use crivello_tests::{Scene, seed};
use serde_json::{Value, json};
use simweb::Spec;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Verifies messages, and that a changed one fails.
const VERIFIER: &str = r#"
import json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
given = json.load(sys.stdin)
hook = Webhook(given["secret"])
for message in given["messages"]:
    hook.verify(message["body"], message["headers"])
    for body, headers in [
        (message["body"] + " ", message["headers"]),
        (message["body"], {**message["headers"], "webhook-timestamp": "1"}),
        (message["body"], {**message["headers"], "webhook-id": "x"}),
    ]:
        try:
            hook.verify(body, headers)
        except WebhookVerificationError:
            continue
        sys.exit("a changed message was verified")
print(len(given["messages"]))
"#;

#[derive(Clone)]
struct Message {
    headers: BTreeMap<String, String>,
    body: String,
}

/// Starts a receiver that refuses its first two requests. Returns its address, and what it received.
fn receiver() -> (String, Arc<Mutex<Vec<Message>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let received = Arc::<Mutex<Vec<Message>>>::default();
    let messages = received.clone();
    std::thread::spawn(move || {
        let mut n_requests = 0;
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            while let Some(message) = read(&mut stream) {
                n_requests += 1;
                let refused = n_requests <= 2;
                let status = if refused { "503 Service Unavailable" } else { "200 OK" };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                if !refused {
                    messages.lock().expect("the messages").push(message);
                }
                if stream.get_mut().write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    (url, received)
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<Message> {
    let (mut headers, mut line) = (BTreeMap::new(), String::new());
    while stream.read_line(&mut line).ok()? > 2 {
        if let Some((name, value)) = line.trim_end().split_once(": ") {
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        line.clear();
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    Some(Message { headers, body: String::from_utf8(body).expect("UTF-8") })
}

#[test]
fn each_capture_is_received_once_over_failures_and_a_restart() {
    let (url, received) = receiver();
    let scene = Scene::new(Spec::new(seed()).size(6, 2, 15).ips(8)).delays("20ms", "0ms");
    let secret = scene.dir().join("secret");
    fs::write(&secret, format!("{SECRET}\n")).expect("written");
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("a mode");
    let scene = scene
        .set(&format!("webhook.url={url}"))
        .set(&format!("webhook.secret-file={:?}", secret.display().to_string()))
        .set("state.sync-interval=100ms")
        .arg("--log=debug")
        .allow_log_line("the webhook does not take captures");
    // The first run ends early.
    let first = scene.command().arg("--max-pages=40").output().expect("a run");
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let _ = scene.crawl().succeeded();

    let mut expected = Vec::new();
    for index in listed(&scene.out().join("warc"), ".cdxj") {
        for line in fs::read_to_string(index).expect("an index").lines() {
            let json: Value =
                serde_json::from_str(line.splitn(3, ' ').nth(2).expect("JSON")).expect("JSON");
            expected.push(json!([json["filename"], json["offset"]]));
        }
    }
    let messages = received.lock().expect("the messages").clone();
    let mut got: Vec<Value> = Vec::new();
    for message in &messages {
        let body: Value = serde_json::from_str(&message.body).expect("JSON");
        let captures = body["captures"].as_array().expect("captures");
        got.extend(captures.iter().map(|c| json!([c["filename"], c["offset"]])));
    }
    let sort = |mut values: Vec<Value>| {
        values.sort_by_key(Value::to_string);
        values
    };
    assert_eq!(sort(got), sort(expected));

    for text in [scene.log(), String::from_utf8_lossy(&first.stderr).into_owned()] {
        assert!(!text.contains("MfKQ9r8G"), "the secret is in the log");
    }
    let Some(programs) = python::install("standardwebhooks==1.1.0") else { return };
    let given = json!({
        "secret": SECRET,
        "messages": messages.iter().map(|m| json!({"headers": m.headers, "body": m.body})).collect::<Vec<_>>(),
    });
    let mut python = Command::new(programs.join("python"))
        .args(["-c", VERIFIER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    serde_json::to_writer(python.stdin.take().expect("standard input"), &given).expect("written");
    let output = python.wait_with_output().expect("python ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), messages.len().to_string());
}
