//! What is made of files, and made anew when they change.

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) trait Made: Sized + Send + Sync + 'static {
    /// Where it comes from.
    type Files: Clone + Send + Sync + 'static;
    /// What stands there.
    type Pem: Clone + PartialEq + Send + 'static;
    /// Why it cannot be used.
    type Error: fmt::Display;
    /// What the log calls the files.
    const WHAT: &'static str;

    fn read(files: &Self::Files) -> Result<Self::Pem, Self::Error>;
    fn make(pem: Self::Pem) -> Result<Self, Self::Error>;
    /// What it was made of.
    fn pem(&self) -> &Self::Pem;
    /// Says what is not as it should be, though it can be used.
    fn warn(&self, files: &Self::Files);
    /// What follows when it changes.
    fn effect(files: &Self::Files) -> String;
}

/// What is in force.
pub(crate) struct Fresh<M: Made> {
    files: Option<M::Files>,
    made: ArcSwap<M>,
    /// Why what stands in the files now is not in force.
    refused: Mutex<Option<String>>,
}

impl<M: Made> Fresh<M> {
    /// What is in these files.
    pub(crate) fn load(files: M::Files) -> Result<Self, M::Error> {
        let made = M::make(M::read(&files)?)?;
        made.warn(&files);
        Ok(Self { files: Some(files), ..Self::fixed(made) })
    }

    /// This, for good.
    pub(crate) fn fixed(made: M) -> Self {
        Self { files: None, made: ArcSwap::from_pointee(made), refused: Mutex::default() }
    }

    /// What is in force just now.
    pub(crate) fn now(&self) -> Arc<M> {
        self.made.load_full()
    }

    /// Has a task of the present runtime look at the files every second, for as long as this is
    /// there. Several may: what one has judged, the others take as it is.
    pub(crate) fn keep(self: &Arc<Self>) {
        if let Some(files) = &self.files {
            tokio::spawn(watch(Arc::downgrade(self), files.clone()));
        }
    }

    /// Puts what was read in force, if it can be used.
    fn judge(&self, read: Read<M::Pem>, files: &M::Files) {
        let mut refused = self.refused.lock();
        if read.as_ref().is_ok_and(|pem| pem == self.made.load().pem()) {
            if refused.take().is_some() {
                tracing::info!("{}: what is in force stands there again", M::WHAT);
            }
            return;
        }
        match read.and_then(|pem| M::make(pem).map_err(|error| error.to_string())) {
            Ok(made) => {
                made.warn(files);
                self.made.store(Arc::new(made));
                *refused = None;
                tracing::info!("{} changed: {}", M::WHAT, M::effect(files));
            }
            Err(why) if refused.as_ref() == Some(&why) => {}
            Err(why) => {
                tracing::warn!(
                    "{} changed and cannot be used, so what was read before stays in force: {why}",
                    M::WHAT
                );
                *refused = Some(why);
            }
        }
    }
}

/// What was read, or why nothing was.
type Read<P> = Result<P, String>;

/// Which of what is read is to be judged: what two looks in a row have shown, because files are
/// written one after the other, and once only.
#[derive(Debug)]
pub(crate) struct Looks<P> {
    last: Read<P>,
    judged: Read<P>,
}

impl<P: Clone + PartialEq> Looks<P> {
    pub(crate) fn new(in_force: P) -> Self {
        Self { last: Ok(in_force.clone()), judged: Ok(in_force) }
    }

    /// Whether this is to be judged now.
    pub(crate) fn is_due(&mut self, read: &Read<P>) -> bool {
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
