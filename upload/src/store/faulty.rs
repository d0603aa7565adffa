//! A store in memory that fails as it is told, for tests.

use super::{ObjectReader, Part, Store, StoreError};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// The fault of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// It is refused.
    Refused,
    /// It is done, but its answer is lost.
    AnswerLost,
    /// A byte of what is stored or read is changed.
    Damaged,
}

type Faults = Box<dyn FnMut(&str) -> Fault + Send>;

#[derive(Clone, Default)]
pub struct FaultyStore(Arc<Mutex<State>>);

#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<String, Bytes>,
    /// Uploads that were begun, with their parts.
    pub uploads: BTreeMap<String, BTreeMap<usize, Bytes>>,
    /// Names of all requests.
    pub requests: Vec<&'static str>,
    /// Parts that are being sent, and the most at one time.
    pub sending: (usize, usize),
    pub faults: Option<Faults>,
}

pub struct BytesReader(Vec<Bytes>);

impl FaultyStore {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn with_faults(&self, faults: impl FnMut(&str) -> Fault + Send + 'static) {
        self.state().faults = Some(Box::new(faults));
    }

    pub fn requests(&self, name: &str) -> usize {
        self.state().requests.iter().filter(|request| **request == name).count()
    }

    /// Does a request, as far as its fault permits.
    fn request<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&mut State, bool) -> T,
    ) -> Result<T, StoreError> {
        let mut state = self.state();
        state.requests.push(name);
        let fault = state.faults.as_mut().map_or(Fault::None, |faults| faults(name));
        if fault == Fault::Refused {
            return Err(StoreError::new("503 Slow Down"));
        }
        let done = work(&mut state, fault == Fault::Damaged);
        if fault == Fault::AnswerLost {
            return Err(StoreError::new("connection reset"));
        }
        Ok(done)
    }
}

/// Returns the bytes with some bits of the last one changed. Two kinds of damage do not undo each other.
fn changed(bytes: &Bytes, bits: u8) -> Bytes {
    let mut bytes = bytes.to_vec();
    if let Some(byte) = bytes.last_mut() {
        *byte ^= bits;
    }
    bytes.into()
}

impl Store for FaultyStore {
    type Reader = BytesReader;

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Option<String>, StoreError> {
        self.request("put", |state, is_damaged| {
            state.objects.insert(key.to_owned(), changed(&bytes, u8::from(is_damaged)));
            Some("\"tag\"".to_owned())
        })
    }

    async fn begin(&self, key: &str) -> Result<String, StoreError> {
        self.request("begin", |state, _| {
            let id = format!("{key}#{}", state.requests.len());
            state.uploads.insert(id.clone(), BTreeMap::new());
            id
        })
    }

    async fn put_part(&self, (_, id): (&str, &str), part: Part) -> Result<String, StoreError> {
        {
            let (sending, most) = &mut self.state().sending;
            *sending += 1;
            *most = (*most).max(*sending);
        }
        // A busy machine reads the next part late.
        for _ in 0..20 {
            if self.state().sending.0 > 1 {
                break;
            }
            sleep(Duration::from_millis(1)).await;
        }
        self.state().sending.0 -= 1;
        self.request("part", |state, is_damaged| {
            let parts = state.uploads.get_mut(id).expect("the upload was begun");
            parts.insert(part.n, changed(&part.bytes, u8::from(is_damaged)));
            format!("tag of {}", part.n)
        })
    }

    async fn complete(
        &self,
        (key, id): (&str, &str),
        tags: Vec<String>,
    ) -> Result<Option<String>, StoreError> {
        self.request("complete", |state, _| {
            let parts = state.uploads.remove(id).expect("the upload was begun");
            let expected: Vec<_> = parts.keys().map(|n| format!("tag of {n}")).collect();
            assert_eq!(tags, expected);
            let bytes = parts.into_values().flatten().collect();
            state.objects.insert(key.to_owned(), bytes);
            None
        })
    }

    async fn abort(&self, _: &str, id: &str) -> Result<(), StoreError> {
        self.request("abort", |state, _| drop(state.uploads.remove(id)))
    }

    async fn find(&self, key: &str) -> Result<Option<(u64, Option<String>)>, StoreError> {
        self.request("find", |state, _| {
            state.objects.get(key).map(|object| (object.len() as u64, None))
        })
    }

    async fn read(&self, key: &str) -> Result<BytesReader, StoreError> {
        let bytes = self.request("read", |state, is_damaged| {
            state.objects.get(key).map(|object| changed(object, 2 * u8::from(is_damaged)))
        })?;
        let bytes = bytes.ok_or_else(|| StoreError::new("404"))?;
        Ok(BytesReader(bytes.chunks(1_000).rev().map(Bytes::copy_from_slice).collect()))
    }
}

impl ObjectReader for BytesReader {
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        Ok(self.0.pop())
    }
}
