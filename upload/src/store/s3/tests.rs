//! Tests against the S3 server of s3s-fs, in this process.

use super::S3Store;
use crate::credentials::StoreCredentials;
use crate::journal::Journal;
use crate::store::{ObjectReader as _, Part, Store as _};
use crate::transfer::Transfer;
use bytes::Bytes;
use crivello_archive::FilePart;
use crivello_common::config::Upload;
use crivello_common::units::ByteSize;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::net::TcpListener;

const KEY_ID: &str = "AKIDOFTHETEST";
const SECRET: &str = "store/test+secret0123456789";
const KEY: &str = "crawls/one/x.warc.gz";
/// Length of parts; S3 permits no less, but for the last.
const PART: u64 = 5 << 20;

/// A server with the bucket `bucket`, whose objects are files.
struct Server {
    root: TempDir,
    at: SocketAddr,
}

impl Server {
    async fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bucket")).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(root.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(KEY_ID, SECRET));
        let service = service.build();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
                tokio::spawn(connection);
            }
        });
        Self { root, at }
    }

    fn settings(&self) -> Upload {
        let endpoint = format!("http://{}", self.at);
        Upload { endpoint, part_size: ByteSize(PART), ..Upload::default() }
    }

    fn store(&self, secret: &str) -> S3Store {
        let (key_id, secret) = (KEY_ID.to_owned(), secret.to_owned());
        let credentials = StoreCredentials { key_id, secret, token: None };
        S3Store::new(&self.settings(), "bucket", credentials).unwrap()
    }

    /// Returns the file of an object.
    fn file(&self, key: &str) -> PathBuf {
        self.root.path().join("bucket").join(key)
    }
}

fn bytes(n: usize, factor: usize) -> Bytes {
    (0..n).map(|i| ((i * factor) >> 3).to_le_bytes()[0]).collect()
}

async fn read(store: &S3Store, key: &str) -> Vec<u8> {
    let (mut reader, mut all) = (store.read(key).await.unwrap(), Vec::new());
    while let Some(bytes) = reader.next().await.unwrap() {
        all.extend_from_slice(&bytes);
    }
    all
}

#[tokio::test]
async fn an_object_of_parts_appears_whole_once_it_is_complete() {
    let server = Server::start().await;
    let store = server.store(SECRET);
    let (first, second) = (bytes(5 << 20, 7), bytes(777, 11));
    let id = store.begin(KEY).await.unwrap();
    let part = |n, offset, bytes: &Bytes| Part { n, offset, bytes: bytes.clone() };
    let tag_1 = store.put_part((KEY, &id), part(1, PART, &second)).await.unwrap();
    let tag_0 = store.put_part((KEY, &id), part(0, 0, &first)).await.unwrap();
    assert_eq!(store.find(KEY).await.unwrap(), None);
    let etag = store.complete((KEY, &id), vec![tag_0, tag_1]).await.unwrap();
    let (size, found) = store.find(KEY).await.unwrap().unwrap();
    assert_eq!(size, PART + 777);
    assert!(etag.is_some() && found.is_some());
    assert_eq!(read(&store, KEY).await, [&first[..], &second[..]].concat());
    assert_eq!(fs::read(server.file(KEY)).unwrap(), read(&store, KEY).await);
}

#[tokio::test]
async fn an_aborted_upload_leaves_nothing_and_what_is_missing_is_no_error_of_find() {
    let server = Server::start().await;
    let store = server.store(SECRET);
    let id = store.begin(KEY).await.unwrap();
    let part = Part { n: 0, offset: 0, bytes: bytes(10, 3) };
    let tag = store.put_part((KEY, &id), part.clone()).await.unwrap();
    store.abort(KEY, &id).await.unwrap();
    assert_eq!(store.find(KEY).await.unwrap(), None);
    assert!(store.read(KEY).await.is_err());
    assert!(store.put_part((KEY, &id), part).await.is_err());
    assert!(store.complete((KEY, &id), vec![tag]).await.is_err());
    assert!(!server.file(KEY).exists());
}

/// The entity tag is not the measure: the object is read back, and compared by its SHA-256.
#[tokio::test]
async fn an_object_with_other_bytes_is_found_and_replaced() {
    let server = Server::start().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.warc.gz");
    let whole = bytes(11 << 20, 13);
    fs::write(&path, &whole).unwrap();
    let mut journal =
        Journal::open(&dir.path().join("uploads.jsonl"), "s3://bucket".to_owned()).unwrap();
    let mut transfer = Transfer::new(server.store(SECRET), &server.settings());
    let length = whole.len() as u64;
    let part = FilePart { path, length, modified: None };
    let mut damaged = whole.to_vec();
    damaged[7 << 20] ^= 0x40;
    for before in [None, Some(&damaged[..]), Some(&whole[1..]), Some(&whole[..])] {
        if let Some(before) = before {
            fs::write(server.file(KEY), before).unwrap();
        }
        transfer.copy(&part, KEY, &mut journal, String::new).await.unwrap();
        assert!(fs::read(server.file(KEY)).unwrap() == whole, "{:?}", before.map(<[u8]>::len));
        assert_eq!(journal.stored(KEY).unwrap().size, length);
    }
}

#[tokio::test]
async fn a_refusal_says_why_without_the_credentials() {
    let server = Server::start().await;
    let store = server.store("another/secret+0123456789");
    let error = store.put(KEY, bytes(10, 3)).await.unwrap_err().to_string();
    assert!(error.contains("SignatureDoesNotMatch") || error.contains("403"), "{error}");
    assert!(!error.contains("another/secret") && !error.contains(KEY_ID), "{error}");
    assert!(store.find(KEY).await.is_err());
}
