//! Sites with signals, served from one socket: a host is an address of loopback.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A response: headers, each with its line break, and the body.
type Page = (&'static str, &'static str);

/// The web: pages by host and path.
type Pages = BTreeMap<(&'static str, &'static str), Page>;

/// A server that runs until the process ends.
pub struct Sites {
    pub port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Sites {
    pub fn serve(pages: &[(&'static str, &'static str, Page)]) -> Self {
        let listener = TcpListener::bind(("0.0.0.0", 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let pages: Pages = pages.iter().map(|(host, path, page)| ((*host, *path), *page)).collect();
        let (pages, requests) = (Arc::new(pages), Arc::new(Mutex::default()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pages, log) = (Arc::clone(&pages), Arc::clone(&log));
                thread::spawn(move || answer(stream, &pages, &log));
            }
        });
        Self { port, requests }
    }

    pub fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// Returns the requests so far, each as host and path.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the log").clone()
    }
}

fn answer(stream: TcpStream, pages: &Pages, log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let (mut path, mut host) = (String::new(), String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(rest) = line.strip_prefix("GET ") {
            rest.split(' ').next().unwrap_or_default().clone_into(&mut path);
        } else if let Some(value) = line.to_ascii_lowercase().strip_prefix("host: ") {
            value.split(':').next().unwrap_or_default().trim().clone_into(&mut host);
        } else if line == "\r\n" {
            break;
        }
    }
    log.lock().expect("the log").push(format!("{host}{path}"));
    let page = pages.iter().find(|((h, p), _)| *h == host && *p == path).map(|(_, page)| *page);
    let (status, (headers, body)) =
        page.map_or(("404 Not Found", ("", "")), |page| ("200 OK", page));
    let kind = match path.rsplit('.').next() {
        Some("txt") => "text/plain",
        Some("json") => "application/json",
        _ => "text/html; charset=utf-8",
    };
    let length = body.len();
    let _ = write!(
        reader.get_mut(),
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n{headers}\r\n{body}"
    );
}
