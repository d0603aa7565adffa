//! A directory as a store: an object is a file that is written beside its place, synced and renamed.

use super::{ObjectReader, Part, Store, StoreError};
use bytes::Bytes;
use crivello_common::runtime::create_private_dir;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Number of bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

pub(crate) struct DirectoryStore(pub(crate) PathBuf);

pub(crate) struct FileReader {
    file: Arc<File>,
    offset: u64,
}

impl DirectoryStore {
    fn path(&self, key: &str) -> PathBuf {
        self.0.join(key)
    }

    fn part_path(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.part"))
    }
}

impl Store for DirectoryStore {
    type Reader = FileReader;

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Option<String>, StoreError> {
        let id = self.begin(key).await?;
        self.put_part((key, &id), Part { n: 0, offset: 0, bytes }).await?;
        self.complete((key, &id), Vec::new()).await
    }

    async fn begin(&self, key: &str) -> Result<String, StoreError> {
        let id = key.to_owned();
        run("create", self.part_path(key), |part| {
            if let Some(dir) = part.parent() {
                create_private_dir(dir)?;
            }
            File::create(part).map(|_| id)
        })
        .await
    }

    async fn put_part(&self, (key, _): (&str, &str), part: Part) -> Result<String, StoreError> {
        run("write", self.part_path(key), move |path| {
            let file = OpenOptions::new().write(true).open(path)?;
            file.write_all_at(&part.bytes, part.offset).map(|()| String::new())
        })
        .await
    }

    async fn complete(
        &self,
        (key, _): (&str, &str),
        _: Vec<String>,
    ) -> Result<Option<String>, StoreError> {
        let object = self.path(key);
        run("store", self.part_path(key), move |part| {
            File::open(part)?.sync_all()?;
            fs::rename(part, &object)?;
            // The names of the file and of its directory.
            for dir in object.ancestors().skip(1).take(2) {
                File::open(dir)?.sync_all()?;
            }
            Ok(None)
        })
        .await
    }

    async fn abort(&self, key: &str, _: &str) -> Result<(), StoreError> {
        run("remove", self.part_path(key), |part| none_if_missing(fs::remove_file(part)).map(drop))
            .await
    }

    async fn find(&self, key: &str) -> Result<Option<(u64, Option<String>)>, StoreError> {
        run("read", self.path(key), |path| {
            none_if_missing(fs::metadata(path)).map(|found| found.map(|found| (found.len(), None)))
        })
        .await
    }

    async fn read(&self, key: &str) -> Result<FileReader, StoreError> {
        let file = run("open", self.path(key), |path| File::open(path)).await?;
        Ok(FileReader { file: Arc::new(file), offset: 0 })
    }
}

impl ObjectReader for FileReader {
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        let (file, offset) = (self.file.clone(), self.offset);
        let bytes = run("read", PathBuf::new(), move |_| {
            let mut bytes = vec![0; READ_BYTES];
            let length = file.read_at(&mut bytes, offset)?;
            bytes.truncate(length);
            Ok(bytes)
        })
        .await?;
        self.offset += bytes.len() as u64;
        Ok((!bytes.is_empty()).then(|| bytes.into()))
    }
}

async fn run<T: Send + 'static>(
    action: &'static str,
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let done = spawn_blocking(move || {
        work(&path).map_err(|error| StoreError::io(&format!("{action} {}", path.display()), &error))
    });
    done.await.map_err(|error| StoreError::new(&error.to_string()))?
}

fn none_if_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}
