//! The coordinator's record: a file that is damaged, or sealed around any bytes.
//!
//! Input: the file, or what is in it.

use super::scratch;
use super::wire::sample_view;
use crate::target::{FuzzTarget, MemoryBound};
use crivello_common::sealed::{seal, unseal};
use crivello_common::view::AgentState;
use crivello_coordinator::{STATE_FILE, stored_settings};
use crivello_proto::FORMAT_VERSION;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

/// The target `state_file`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "state_file",
    run,
    samples,
    tokens: &[MAGIC, b"crivello coordinator state 3\n", b"politeness.delay", b"agent-1:7000"],
    len_max: 8_192,
    // An object of one short key takes seven bytes as JSON, and 632 in memory.
    peak: MemoryBound { base: 64 << 10, per_byte: 128 },
    total: MemoryBound { base: 256 << 10, per_byte: 256 },
};

const MAGIC: &[u8] = b"crivello coordinator state 2\n";

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

fn samples() -> Vec<Vec<u8>> {
    let record = json!([FORMAT_VERSION, {
        "crawl_id": "00c0ffee00c0ffee",
        "begun": "2026-01-01T00:00:00Z",
        "meaning": "",
        "signing_key": "",
        "members": {
            "view": sample_view(7, AgentState::Draining),
            "next_id": 4,
            "draining": [2],
            "unreplicated": { "1": { "epoch": 5, "holders": 1 } },
            "deaths": { "3": { "epoch": 6, "covered": false, "holders": 2 } },
            "usable": [{ "first": 5, "last": 6, "living": [1, 2, 3] }],
            "safe_files": { "1": 3 },
        },
        "page_quotas": { "1": 100, "2": 7 },
        "settings": {
            "revision": 3,
            "toml": "[politeness]\ndelay = \"1s\"\n",
            "given": { "politeness.delay": "\"1s\"" },
        },
    }]);
    let record = record.to_string().into_bytes();
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
