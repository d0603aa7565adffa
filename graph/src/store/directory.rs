//! Replacement of the directory of the graphs as a whole.

use super::{Manifest, directory};
use crate::GraphError;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The directory of new graphs. It is removed if it is dropped before [`GraphDirWriter::publish`].
pub(crate) struct GraphDirWriter {
    /// Directory of the graphs that readers open.
    public: PathBuf,
    /// Directory of the new graphs.
    new: PathBuf,
    /// Held until the end: there is one writer.
    _lock: File,
}

impl GraphDirWriter {
    /// Creates an empty directory beside the graphs of a crawl in `out`. What a killed build left is removed.
    pub(crate) fn create(out: &Path) -> Result<Self, GraphError> {
        let public = directory(out);
        let lock_path = public.with_added_extension("lock");
        let lock = File::create(&lock_path).map_err(GraphError::io(&lock_path))?;
        lock.try_lock().map_err(|_| GraphError::Busy(public.clone()))?;
        let old = public.with_added_extension("old");
        if old.exists() && !public.exists() {
            fs::rename(&old, &public).map_err(GraphError::io(&old))?;
        }
        let new = public.with_added_extension("new");
        remove(&new).and_then(|()| fs::create_dir(&new)).map_err(GraphError::io(&new))?;
        Ok(Self { public, new, _lock: lock })
    }

    /// Returns the directory of the new graphs. Files with no name may be there, too.
    pub(crate) fn path(&self) -> &Path {
        &self.new
    }

    /// Waits until all files are on the disk, and replaces the old graphs by the new ones, in one step where the
    /// system can.
    pub(crate) fn publish(self, mut manifest: Manifest) -> Result<Manifest, GraphError> {
        manifest.seal(&self.new).map_err(GraphError::io(&self.new))?;
        self.replace().map_err(GraphError::io(&self.public))?;
        Ok(manifest)
    }

    fn replace(&self) -> io::Result<()> {
        if self.public.exists() {
            match renameat_with(CWD, &self.new, CWD, &self.public, RenameFlags::EXCHANGE) {
                Ok(()) => {}
                // A file system that cannot: a kill between the steps leaves the old graphs under another name.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    let old = self.public.with_added_extension("old");
                    remove(&old)?;
                    fs::rename(&self.public, &old)?;
                    fs::rename(&self.new, &self.public)?;
                    remove(&old)?;
                }
                Err(error) => return Err(error.into()),
            }
        } else {
            fs::rename(&self.new, &self.public)?;
        }
        File::open(self.public.parent().unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for GraphDirWriter {
    fn drop(&mut self) {
        // The old graphs, or new ones that are not whole. The next build removes what stays.
        let _ = remove(&self.new);
    }
}

fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
