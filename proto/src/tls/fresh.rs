//! What is made of files, and made anew when they change.

use super::TlsError;
use arc_swap::ArcSwap;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// See the module.
pub(super) trait Made: Sized + Send + Sync + 'static {
    /// Where it comes from.
    type Files: Clone + Send + Sync + 'static;
    /// What stands there.
    type Pem: Clone + PartialEq + Send + 'static;

    fn read(files: &Self::Files) -> Result<Self::Pem, TlsError>;
    fn make(pem: Self::Pem) -> Result<Self, TlsError>;
    /// What it was made of.
    fn pem(&self) -> &Self::Pem;
    /// Says what others will not like of it.
    fn warn(&self);
    /// The file that stands for all.
    fn name(files: &Self::Files) -> &Path;
}

/// What is in force.
pub(super) struct Fresh<M: Made> {
    files: Option<M::Files>,
    made: ArcSwap<M>,
}

impl<M: Made> Fresh<M> {
    /// What is in these files.
    pub(super) fn load(files: M::Files) -> Result<Self, TlsError> {
        let made = M::make(M::read(&files)?)?;
        made.warn();
        Ok(Self { files: Some(files), made: ArcSwap::from_pointee(made) })
    }

    /// By what was given, for good.
    pub(super) fn of(pem: M::Pem) -> Result<Self, TlsError> {
        Ok(Self { files: None, made: ArcSwap::from_pointee(M::make(pem)?) })
    }

    /// What is in force just now.
    pub(super) fn now(&self) -> Arc<M> {
        self.made.load_full()
    }

    /// Has a task of the present runtime look at the files every second, for as long as this is
    /// there.
    pub(super) fn keep(self: &Arc<Self>) {
        if let Some(files) = &self.files {
            tokio::spawn(watch(Arc::downgrade(self), files.clone()));
        }
    }

    /// Puts what was read in force, if it can be used.
    fn judge(&self, read: Read<M::Pem>, files: &M::Files) {
        if read.as_ref().is_ok_and(|pem| pem == self.made.load().pem()) {
            tracing::info!("the TLS files are again those in force");
            return;
        }
        match read.and_then(|pem| M::make(pem).map_err(|error| error.to_string())) {
            Ok(made) => {
                made.warn();
                self.made.store(Arc::new(made));
                tracing::info!(
                    "the TLS files have changed: new connections use {}, those that are there go on",
                    M::name(files).display()
                );
            }
            Err(why) => tracing::warn!(
                "the TLS files have changed and are not used, those read before stay in force: {why}"
            ),
        }
    }
}

/// What was read, or why nothing was.
type Read<P> = Result<P, String>;

/// Which of what is read is to be judged: what two looks in a row have shown, because files are
/// written one after the other, and once only.
#[derive(Debug)]
pub(super) struct Looks<P> {
    last: Read<P>,
    judged: Read<P>,
}

impl<P: Clone + PartialEq> Looks<P> {
    pub(super) fn new(in_force: P) -> Self {
        Self { last: Ok(in_force.clone()), judged: Ok(in_force) }
    }

    /// Whether this is to be judged now.
    pub(super) fn is_due(&mut self, read: &Read<P>) -> bool {
        let rests = self.last == *read;
        let is_new = self.judged != *read;
        if !rests {
            self.last = read.clone();
        } else if is_new {
            self.judged = read.clone();
        }
        rests && is_new
    }
}

/// Until nobody needs them.
async fn watch<M: Made>(of: Weak<Fresh<M>>, files: M::Files) {
    let Some(fresh) = of.upgrade() else { return };
    let mut looks = Looks::new(fresh.now().pem().clone());
    drop(fresh);
    loop {
        sleep(LOOK_EVERY).await;
        let reads = files.clone();
        let read = spawn_blocking(move || M::read(&reads).map_err(|error| error.to_string())).await;
        let Ok(read) = read else { continue };
        let Some(fresh) = of.upgrade() else { return };
        if looks.is_due(&read) {
            fresh.judge(read, &files);
        }
    }
}
