//! A body, and what its owner does with what passes.

use crate::offline::Offline;
use crivello_agent::crawldb::{
    BlockedBloom, Bloom, Lookup, Losses, Memory, QuotientSeen, RocksSeen, SeenSet,
};
use crivello_agent::storage::values::Seen;
use crivello_agent::storage::{Batch, Database, Family, keys};
use crivello_common::config::State;
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bodies that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    Rocks,
    Offline,
    Memory,
    Bloom,
    BlockedBloom,
    Quotient,
}

impl Kind {
    pub const ALL: [Self; 6] =
        [Self::Rocks, Self::Offline, Self::Memory, Self::Bloom, Self::BlockedBloom, Self::Quotient];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Rocks => "rocksdb",
            Self::Offline => "offline",
            Self::Memory => "memory",
            Self::Bloom => "bloom",
            Self::BlockedBloom => "blocked-bloom",
            Self::Quotient => "quotient",
        }
    }
}

/// A seen set: one of the agent's, which answer at once, or the one that gathers URLs first.
pub enum Body {
    Prompt(Box<dyn SeenSet>),
    Offline(Offline),
}

impl Body {
    pub fn memory(&self) -> usize {
        match self {
            Self::Prompt(body) => body.memory(),
            Self::Offline(body) => body.memory(),
        }
    }

    pub fn losses(&self) -> Losses {
        match self {
            Self::Prompt(body) => body.losses(),
            Self::Offline(_) => Losses::default(),
        }
    }
}

/// A set that is measured.
pub struct Subject {
    pub body: Body,
    dir: PathBuf,
    /// Of a body that leaves it to its owner to write down what has passed.
    disk: Option<Arc<Database>>,
    passed: Vec<u64>,
}

impl Subject {
    pub fn new(kind: Kind, memory: ByteSize, dir: &Path) -> Self {
        let disk = (kind == Kind::Rocks).then(|| database(dir));
        let body = match (kind, &disk) {
            (Kind::Rocks, Some(disk)) => Body::Prompt(Box::new(RocksSeen::new(disk.clone()))),
            (Kind::Bloom, _) => Body::Prompt(Box::new(Bloom::new(memory))),
            (Kind::BlockedBloom, _) => Body::Prompt(Box::new(BlockedBloom::new(memory))),
            // Without rows, which it needs only when it is full.
            (Kind::Quotient, _) => {
                let rows = database(&dir.join("rows"));
                Body::Prompt(Box::new(QuotientSeen::new(rows, memory)))
            }
            (Kind::Offline, _) => {
                Body::Offline(Offline::open(dir, memory).expect("the fingerprint file opens"))
            }
            _ => Body::Prompt(Box::<Memory>::default()),
        };
        Self { body, dir: dir.to_owned(), disk, passed: Vec::new() }
    }

    /// Offers a batch, whose tickets count on from `first`; says how many have passed.
    pub fn lookup(&mut self, batch: &[Lookup]) -> u64 {
        self.passed.clear();
        match &mut self.body {
            Body::Prompt(body) => {
                body.lookup(batch, &mut self.passed).expect("the disk can be read and written");
                passed_of(batch, &self.passed).for_each(|key| body.insert(key));
            }
            Body::Offline(body) => {
                body.lookup(batch, &mut self.passed).expect("the file can be read and written");
            }
        }
        if let Some(disk) = &self.disk {
            let value = Seen::Queued(None).encode();
            let mut rows = Batch::default();
            for key in passed_of(batch, &self.passed) {
                rows.put(Family::Seen, &keys::seen(key), &value);
            }
            disk.commit(&rows).expect("the disk can be read and written");
        }
        self.passed.len() as u64
    }

    /// Has the body answer for all that is left; says how many have passed.
    pub fn flush(&mut self) -> u64 {
        self.passed.clear();
        if let Body::Offline(body) = &mut self.body {
            body.flush(&mut self.passed).expect("the file can be read and written");
        }
        self.passed.len() as u64
    }

    /// Brings everything into files; says how long those are that hold URLs.
    pub fn close(self) -> u64 {
        let Self { body, dir, disk, .. } = self;
        if let Body::Prompt(body) = &body {
            assert!(!body.overflow().is_full, "more memory: CRIVELLO_BENCH_MEMORY");
        }
        drop(body);
        let Some(disk) = disk else {
            let files = fs::read_dir(dir).expect("the directory");
            let length = |file: fs::DirEntry| file.metadata().expect("a file").len();
            return files.map(|file| length(file.expect("a file"))).sum();
        };
        disk.close();
        drop(disk);
        // Opening it again empties its buffers.
        let disk = database(&dir);
        let bytes = disk.size_on_disk(Family::Seen);
        disk.close();
        bytes
    }
}

/// The keys with these tickets, which are in the order of the batch.
fn passed_of(batch: &[Lookup], passed: &[u64]) -> impl Iterator<Item = UrlKey> {
    let mut lookups = batch.iter();
    passed.iter().map(move |&ticket| {
        lookups.find(|lookup| lookup.ticket == ticket).expect("a lookup with this ticket").key
    })
}

fn database(dir: &Path) -> Arc<Database> {
    Arc::new(Database::open(dir, true, &State::default()).expect("the database opens"))
}
