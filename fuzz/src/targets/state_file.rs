//! The coordinator's record: a file that is damaged, or sealed around any bytes.
//!
//! Input: the file, or what is in it.

use super::scratch;
use super::wire::sample_view;
use crate::target::{FuzzTarget, MemoryBound};
use crivello_common::sealed::{seal, unseal};
use crivello_common::view::AgentState;
use crivello_coordinator::{STATE_FILE, stored_settings};
use crivello_proto::{FORMAT_VERSION, v1};
use prost::Message;
use std::fs;
use tempfile::TempDir;

/// The target `state_file`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "state_file",
    run,
    samples,
    tokens: &[MAGIC, b"crivello coordinator state 2\n", b"politeness.delay", b"agent-1:7000"],
    len_max: 8_192,
    peak: MemoryBound { base: 64 << 10, per_byte: 64 },
    total: MemoryBound { base: 256 << 10, per_byte: 256 },
};

const MAGIC: &[u8] = b"crivello coordinator state 1\n";

thread_local! {
    static DIR: TempDir = scratch::directory();
}

#[expect(clippy::expect_used, reason = "the file is in memory")]
fn run(input: &[u8]) {
    assert!(unseal(MAGIC, &seal(MAGIC, input)) == Ok(input), "a sealed record differs");
    DIR.with(|dir| {
        for file in [input, &seal(MAGIC, input)] {
            fs::write(dir.path().join(STATE_FILE), file).expect("the file is written");
            let read = stored_settings(dir.path());
            assert!(!matches!(read, Ok(None)), "a file that exists is not seen");
            if unseal(MAGIC, file).is_err() {
                assert!(read.is_err(), "a damaged file is read");
            }
            let untouched = fs::read(dir.path().join(STATE_FILE)).expect("the file is read");
            assert!(untouched == file, "the file was changed");
        }
    });
}

/// The first fields of a record; the others have the same types.
#[derive(Clone, PartialEq, Message)]
struct SampleRecord {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(string, tag = "2")]
    crawl_id: String,
    #[prost(uint32, tag = "5")]
    next_id: u32,
    #[prost(message, tag = "6")]
    view: Option<v1::View>,
    #[prost(btree_map = "uint32, uint64", tag = "7")]
    page_quotas: std::collections::BTreeMap<u32, u64>,
    #[prost(uint32, repeated, tag = "8")]
    draining: Vec<u32>,
    #[prost(uint64, tag = "10")]
    settings_revision: u64,
    #[prost(string, tag = "11")]
    settings: String,
    #[prost(message, repeated, tag = "13")]
    deaths: Vec<SampleDeath>,
    #[prost(message, repeated, tag = "14")]
    usable: Vec<SampleViews>,
    #[prost(message, repeated, tag = "15")]
    unreplicated: Vec<SampleFewHolders>,
}

#[derive(Clone, PartialEq, Message)]
struct SampleDeath {
    #[prost(uint32, tag = "1")]
    agent: u32,
    #[prost(uint64, tag = "2")]
    epoch: u64,
    #[prost(bool, tag = "3")]
    covered: bool,
    #[prost(uint32, tag = "4")]
    holders: u32,
}

#[derive(Clone, PartialEq, Message)]
struct SampleViews {
    #[prost(uint64, tag = "1")]
    first: u64,
    #[prost(uint64, tag = "2")]
    last: u64,
    #[prost(uint32, repeated, tag = "3")]
    living: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct SampleFewHolders {
    #[prost(uint32, tag = "1")]
    agent: u32,
    #[prost(uint64, tag = "2")]
    epoch: u64,
    #[prost(uint32, tag = "3")]
    holders: u32,
}

fn samples() -> Vec<Vec<u8>> {
    let record = SampleRecord {
        format: FORMAT_VERSION,
        crawl_id: "00c0ffee00c0ffee".to_owned(),
        next_id: 4,
        view: Some((&sample_view(7, AgentState::Draining)).into()),
        page_quotas: [(1, 100), (2, 7)].into(),
        draining: vec![2],
        settings_revision: 3,
        settings: "[politeness]\ndelay = \"1s\"\n".to_owned(),
        deaths: vec![SampleDeath { agent: 3, epoch: 6, covered: false, holders: 2 }],
        usable: vec![SampleViews { first: 5, last: 6, living: vec![1, 2, 3] }],
        unreplicated: vec![SampleFewHolders { agent: 1, epoch: 5, holders: 1 }],
    };
    let record = record.encode_to_vec();
    vec![seal(MAGIC, &record), record, Vec::new()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_a_record_that_the_coordinator_reads() {
        let dir = scratch::directory();
        fs::write(dir.path().join(STATE_FILE), &samples()[0]).unwrap();
        let settings = stored_settings(dir.path()).unwrap().unwrap();
        assert_eq!((settings.revision, settings.toml.lines().count()), (3, 2));
    }
}
