//! Packets of other agents and views, through the replication engine into the crawl database.
//!
//! Input: steps, each a byte for its kind, a byte for the sender, a big-endian length of two bytes,
//! and its bytes. The engine and the crawl database are real.

use super::scratch;
use super::values::sample_facts;
use super::wire::{sample_packets, sample_view};
use crate::target::{FuzzTarget, MemoryBound};
use bytes::Bytes;
use crivello_agent::cluster::{
    ClusterStatus, InboundMsg, OpenCommits, Outbox, PacketQueue, ReplicationEngine,
};
use crivello_agent::crawldb::CrawlDb;
use crivello_agent::messages::{Commit, ExportCursor, ReplicaStore as _, TransferKind};
use crivello_agent::peers::{Body, PacketOrigin, PeerEvent, Rejected};
use crivello_agent::storage::{Batch, Database, Family, facts};
use crivello_agent::url_tracing::Tracer;
use crivello_common::config::{Cluster, Settings, State, Telemetry};
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::v1;
use prost::Message;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// The target `packets`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "packets",
    run,
    samples,
    tokens: &[
        b"\x00\x02\x00\x04",
        b"\x03\x00\x00\x00",
        b"www.site.example",
        b"/a?b=c",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    ],
    len_max: 8_192,
    peak: MemoryBound { base: 48 << 20, per_byte: 4_096 },
    total: MemoryBound { base: 256 << 20, per_byte: 16_384 },
};

const ME: AgentId = AgentId(1);
/// Steps of one input that are performed.
const STEPS_MAX: usize = 32;
/// Turns after the last step, and steps of jobs in one turn. More than any input needs.
const TURNS: usize = 4;
const JOBS_MAX: usize = 4_096;

const FAMILIES: [Family; 10] = [
    Family::Seen,
    Family::Frontier,
    Family::Hosts,
    Family::Robots,
    Family::Schedule,
    Family::Due,
    Family::Groups,
    Family::Content,
    Family::Outbox,
    Family::Meta,
];

thread_local! {
    static DISK: Disk = Disk::new();
}

/// A database that is emptied before each input.
struct Disk {
    settings: Settings,
    tracer: Arc<Tracer>,
    database: Arc<Database>,
    _dir: TempDir,
}

impl Disk {
    #[expect(clippy::expect_used, reason = "without a database nothing can be tried")]
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.fixed.state.sieve_cache = ByteSize::mib(1);
        let now = Timestamp::from_secs(1_795_176_000);
        let hasher = KeyedHasher::with_public_key();
        let tracer = Tracer::new("fuzz", hasher, &Telemetry::default(), now).into();
        let dir = scratch::directory();
        let database = Database::open(dir.path(), true, &State::default()).expect("a database");
        Self { settings, tracer, database: Arc::new(database), _dir: dir }
    }

    #[expect(clippy::expect_used, reason = "without a database nothing can be tried")]
    fn empty(&self) {
        let mut batch = Batch::default();
        for family in FAMILIES {
            let walked = self.database.walk(family, &[], &[0xff; 64], |key, _| {
                batch.delete(family, key);
                Ok(true)
            });
            walked.expect("the rows are read");
        }
        self.database.commit(&batch).expect("the rows are deleted");
    }
}

fn run(input: &[u8]) {
    DISK.with(|disk| {
        disk.empty();
        let mut agent = SimAgent::new(disk);
        agent.enter(sample_view(1, AgentState::Active));
        for step in steps(input).into_iter().take(STEPS_MAX) {
            agent.perform(step);
        }
        for _ in 0..TURNS {
            agent.turn();
        }
        agent.check();
    });
}

/// A step of an input.
struct InputStep<'a> {
    kind: u8,
    from: AgentId,
    bytes: &'a [u8],
}

fn steps(mut input: &[u8]) -> Vec<InputStep<'_>> {
    let mut steps = Vec::new();
    while let Some((&[kind, from, high, low], rest)) = input.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (bytes, rest) = rest.split_at(len);
        steps.push(InputStep { kind, from: AgentId(u32::from(from % 4)), bytes });
        input = rest;
    }
    steps
}

/// Queue of packets that are stored at once by the agents that they go to.
#[derive(Default)]
struct StoredPackets {
    last: u64,
    stored: VecDeque<PeerEvent>,
}

impl PacketQueue for StoredPackets {
    fn offer(&mut self, to: AgentId, _: Body) -> Result<u64, Rejected> {
        self.last += 1;
        self.stored.push_back(PeerEvent::Stored { by: to, id: self.last });
        Ok(self.last)
    }
}

struct SimAgent<'a> {
    disk: &'a Disk,
    crawldb: CrawlDb,
    engine: ReplicationEngine,
    packets: StoredPackets,
    pages: Commit,
    facts: Commit,
    now: Timestamp,
    groups: BTreeSet<GroupHash>,
}

#[expect(clippy::expect_used, reason = "the disk does not fail: an error is what is looked for")]
impl<'a> SimAgent<'a> {
    fn new(disk: &'a Disk) -> Self {
        let (hasher, settings) = (KeyedHasher::with_public_key(), &disk.settings);
        let now = Timestamp::from_secs(1_795_176_000);
        let crawldb = CrawlDb::open(disk.database.clone(), settings, hasher).expect("it opens");
        let tracer = disk.tracer.clone();
        let outbox = Outbox::open(&*disk.database).expect("the outbox is empty");
        let status = Arc::new(ClusterStatus::default());
        let cluster = Cluster { replication: 2, ..settings.fixed.cluster.clone() };
        let engine = ReplicationEngine::new((ME, hasher), &cluster, tracer, status, outbox, now);
        Self {
            disk,
            crawldb: crawldb.sharing(ME),
            engine,
            packets: StoredPackets::default(),
            pages: Commit::default(),
            facts: Commit::of_facts(),
            now,
            groups: BTreeSet::new(),
        }
    }

    fn receive(&mut self, message: InboundMsg) {
        let mut open = OpenCommits { pages: &mut self.pages, facts: &mut self.facts };
        let taken = self.engine.on_message(message, &mut open, &mut self.crawldb, self.now);
        taken.expect("the message is handled");
    }

    fn enter(&mut self, view: View) {
        self.commit();
        self.receive(InboundMsg::View(Arc::new(view)));
        let Some(view) = self.engine.take_view() else { return };
        let mut open = OpenCommits { pages: &mut self.pages, facts: &mut self.facts };
        let begun = self.engine.begin_epoch(&view, &mut open, &mut self.crawldb, self.now);
        begun.expect("the epoch begins");
        let _ = self.engine.take_effects();
    }

    fn perform(&mut self, InputStep { kind, from, bytes }: InputStep<'_>) {
        let fact = || vec![Bytes::copy_from_slice(bytes)];
        let body = match kind % 8 {
            0 => {
                let Ok(packet) = v1::Packet::decode(bytes) else { return };
                let Ok(body) = Body::try_from(packet.body) else { return };
                body
            }
            1 => Body::Facts(fact()),
            2 => Body::ReplicaFacts(fact()),
            3 => return self.turn(),
            4 => {
                let Ok(view) = v1::View::decode(bytes) else { return };
                let Ok(view) = View::try_from(view) else { return };
                return self.enter(view);
            }
            5 => {
                let id = bytes.first().map_or(0, |&id| u64::from(id));
                return self.receive(InboundMsg::Peer(PeerEvent::Stored { by: from, id }));
            }
            kind => {
                let Some(group) = facts::group_of(bytes) else { return };
                let kind = match kind {
                    6 => TransferKind::Handoff { authority: from.0 % 2 == 0, keeps: from.0 < 3 },
                    _ => TransferKind::Replica,
                };
                Body::Rows { group, facts: fact(), kind, last: true }
            }
        };
        if let Body::Facts(facts) | Body::ReplicaFacts(facts) | Body::Rows { facts, .. } = &body {
            self.groups.extend(facts.iter().filter_map(|fact| facts::group_of(fact)));
        }
        let (answer, _) = oneshot::channel();
        let epoch = self.engine.ownership().epoch();
        let from = PacketOrigin { id: from, behind_us: 1_000 };
        self.receive(InboundMsg::Packet { from, epoch, body, answer });
    }

    /// Commits what is open, takes a step of the handoff, and delivers all packets.
    fn turn(&mut self) {
        self.commit();
        self.now = self.now + std::time::Duration::from_secs(1);
        let now = self.now;
        let mut open = OpenCommits { pages: &mut self.pages, facts: &mut self.facts };
        self.engine.step(&mut open, &mut self.crawldb, now, &|| now).expect("a step");
        self.commit();
        self.run_jobs();
        self.engine.on_synced();
        let _ = self.engine.take_effects();
        self.engine.send(&self.crawldb, &mut self.packets, &|| now).expect("packets are sent");
        while let Some(stored) = self.packets.stored.pop_front() {
            self.receive(InboundMsg::Peer(stored));
        }
    }

    fn commit(&mut self) {
        let facts = std::mem::replace(&mut self.facts, Commit::of_facts());
        let pages = std::mem::take(&mut self.pages);
        for mut commit in [facts, pages] {
            let routed = self.engine.route(&mut commit, &mut self.crawldb, self.now);
            routed.expect("the commit is routed");
            self.crawldb.apply(&mut commit, self.now).expect("the commit is applied");
            self.write(commit);
        }
    }

    fn write(&mut self, mut commit: Commit) {
        let changes = self.engine.enqueue(&mut commit, &mut self.crawldb);
        for (key, value) in changes.expect("the changes are enqueued") {
            commit.batch.change(Family::Outbox, &key, value.as_deref());
        }
        self.disk.database.commit(&commit.batch).expect("the batch is written");
        self.engine.on_committed(&mut commit);
    }

    fn run_jobs(&mut self) {
        for _ in 0..JOBS_MAX {
            if !self.crawldb.has_jobs() {
                return;
            }
            if let Some(commit) = self.crawldb.step_job(self.now).expect("a step of the jobs") {
                self.write(commit);
            }
        }
        panic!("the jobs on groups do not end");
    }

    /// Checks that everything that was stored can be read and sent.
    fn check(&self) {
        let hasher = KeyedHasher::with_public_key();
        for &group in &self.groups {
            let exported = self.crawldb.export(group, ExportCursor::default(), 1 << 20);
            for fact in exported.expect("the rows of the group are read").0 {
                let sent = facts::decode(&facts::encode(&fact), &hasher);
                assert_eq!(sent.map(|fact| fact.group()), Some(group), "{fact:?} cannot be sent");
            }
        }
    }
}

fn step(kind: u8, from: u8, bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&[kind, from][..], &len, bytes].concat()
}

fn samples() -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    let packets = sample_packets();
    let view = |epoch, state| v1::View::from(&sample_view(epoch, state)).encode_to_vec();
    let turn = step(3, 0, &[]);
    for packet in &packets {
        samples.push([step(0, 2, packet), turn.clone(), step(0, 3, packet)].concat());
    }
    for fact in sample_facts() {
        for kind in [1, 2, 6, 7] {
            samples.push([step(kind, 2, &fact), turn.clone(), step(kind, 3, &fact)].concat());
        }
    }
    let dies = [
        packets.iter().flat_map(|packet| step(0, 2, packet)).collect(),
        turn.clone(),
        step(4, 0, &view(2, AgentState::Dead)),
        turn.clone(),
        packets.iter().flat_map(|packet| step(0, 3, packet)).collect(),
        step(4, 0, &view(3, AgentState::Active)),
        turn,
    ];
    samples.push(dies.concat());
    samples
}
