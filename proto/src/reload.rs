//! Values loaded from files and reloaded when the files change.

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Time between two reads of the files.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// A value loaded from files.
pub(crate) trait Reloadable: Sized + Send + Sync + 'static {
    /// The paths of the files.
    type Files: Clone + Send + Sync + 'static;
    /// The contents of the files.
    type Contents: Clone + PartialEq + Send + 'static;
    /// The reason why the files cannot be used.
    type Error: fmt::Display;
    /// Name of the files in the log.
    const NAME: &'static str;

    fn read(files: &Self::Files) -> Result<Self::Contents, Self::Error>;
    fn build(contents: Self::Contents) -> Result<Self, Self::Error>;
    /// Logs problems that do not prevent use.
    fn warn(&self, _files: &Self::Files) {}
    /// Returns a message about the effect of a change.
    fn effect(files: &Self::Files) -> String;
}

/// A value that is reloaded when its files change.
pub(crate) struct Reloading<T: Reloadable> {
    files: Option<T::Files>,
    value: ArcSwap<T>,
    /// The contents from which the value was built, if it has files, and the reason why their
    /// current contents are not in force.
    read: Mutex<(Option<T::Contents>, Option<String>)>,
}

/// Hides the value.
impl<T: Reloadable> fmt::Debug for Reloading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::NAME)
    }
}

impl<T: Reloadable> Reloading<T> {
    /// Loads the value from `files`.
    pub(crate) fn load(files: T::Files) -> Result<Self, T::Error> {
        let contents = T::read(&files)?;
        let value = T::build(contents.clone())?;
        value.warn(&files);
        let read = Mutex::new((Some(contents), None));
        Ok(Self { files: Some(files), read, ..Self::fixed(value) })
    }

    /// Creates a value without files, which never changes.
    pub(crate) fn fixed(value: T) -> Self {
        let read = Mutex::new((None, None));
        Self { files: None, value: ArcSwap::from_pointee(value), read }
    }

    /// Returns the value in force.
    pub(crate) fn now(&self) -> Arc<T> {
        self.value.load_full()
    }

    /// Spawns a task that reads the files every second while this value exists. Several tasks for
    /// one value are harmless.
    pub(crate) fn watch(self: &Arc<Self>) {
        if let Some(files) = &self.files {
            tokio::spawn(watch(Arc::downgrade(self), files.clone()));
        }
    }

    /// Replaces the value if the contents are valid.
    fn apply(&self, read: Read<T::Contents>, files: &T::Files) {
        let (in_force, rejected) = &mut *self.read.lock();
        if read.as_ref().is_ok_and(|contents| Some(contents) == in_force.as_ref()) {
            if rejected.take().is_some() {
                tracing::info!("{} are back to the contents in force", T::NAME);
            }
            return;
        }
        let built = read.and_then(|contents| {
            let value = T::build(contents.clone()).map_err(|error| error.to_string())?;
            Ok((value, contents))
        });
        match built {
            Ok((value, contents)) => {
                value.warn(files);
                self.value.store(Arc::new(value));
                (*in_force, *rejected) = (Some(contents), None);
                tracing::info!("{} changed: {}", T::NAME, T::effect(files));
            }
            Err(error) if rejected.as_ref() == Some(&error) => {}
            Err(error) => {
                tracing::warn!(
                    "{} changed but cannot be used; the previous contents stay in force: {error}",
                    T::NAME
                );
                *rejected = Some(error);
            }
        }
    }
}

/// The contents of the files, or the error of reading them.
type Read<P> = Result<P, String>;

/// Detector of a change that two consecutive reads have found, because related files are written
/// one after another. Each change is reported once.
#[derive(Debug)]
pub(crate) struct StableChange<P> {
    last: Read<P>,
    reported: Read<P>,
}

impl<P: Clone + PartialEq> StableChange<P> {
    pub(crate) fn new(in_force: P) -> Self {
        Self { last: Ok(in_force.clone()), reported: Ok(in_force) }
    }

    /// Returns true if `read` is a stable change not yet reported.
    pub(crate) fn is_due(&mut self, read: &Read<P>) -> bool {
        let is_stable = self.last == *read;
        let is_new = self.reported != *read;
        if !is_stable {
            self.last = read.clone();
        } else if is_new {
            self.reported = read.clone();
        }
        is_stable && is_new
    }
}

/// Reads the files until the value is dropped.
async fn watch<T: Reloadable>(value: Weak<Reloading<T>>, files: T::Files) {
    let in_force = value.upgrade().and_then(|reloading| reloading.read.lock().0.clone());
    let Some(mut change) = in_force.map(StableChange::new) else { return };
    loop {
        sleep(READ_INTERVAL).await;
        let paths = files.clone();
        let read = spawn_blocking(move || T::read(&paths).map_err(|error| error.to_string())).await;
        let Ok(read) = read else { continue };
        let Some(reloading) = value.upgrade() else { return };
        if change.is_due(&read) {
            reloading.apply(read, &files);
        }
    }
}
