//! The bytes of a view that are signed, and the signer.
//!
//! Numbers are big-endian; a text is its length in two bytes, then its bytes:
//!
//! ```text
//! "crivello view 2\n"  crawl id (text)  epoch (8)  run state (1)
//! number of agents (4), each: id (4)  name (text)  address (text)  slot (2)  weight (2)  state (1)
//!     joined epoch (8)  disk id (8)  unreplicated (1)  number of certificates (1), 32 bytes each
//! number of lost archives (4), each: id of the agent (4)  number of safe files (4)
//! ```

use super::key::{CoordinatorKey, SIGNATURE_LEN, SigningKey};
use crate::v1;
use crivello_common::view::{Agent, View};
use parking_lot::Mutex;

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello view 2\n";

/// Returns the bytes of a view that are signed.
fn bytes_of(view: &View, crawl_id: &str) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    text(&mut out, crawl_id);
    out.extend(view.epoch.to_be_bytes());
    out.push(view.run as u8);
    out.extend(count(view.agents.len()));
    view.agents.iter().for_each(|of| agent(&mut out, of));
    out.extend(count(view.lost_archives.len()));
    for lost in &view.lost_archives {
        out.extend(lost.agent.0.to_be_bytes());
        out.extend(lost.safe_files.to_be_bytes());
    }
    out
}

fn agent(out: &mut Vec<u8>, agent: &Agent) {
    let Agent { id, name, address, slot, weight, state, .. } = agent;
    out.extend(id.0.to_be_bytes());
    text(out, name);
    text(out, address);
    out.extend(slot.to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.push(*state as u8);
    out.extend(agent.joined_epoch.to_be_bytes());
    out.extend(agent.disk_id.to_be_bytes());
    out.push(agent.unreplicated.into());
    out.push(u8::try_from(agent.certificates.len()).unwrap_or(u8::MAX));
    out.extend(agent.certificates.iter().flat_map(|id| id.0));
}

/// Appends a text. Checked views have none as long as 64 KiB.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend(text.as_bytes());
}

fn count(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes()
}

/// Returns true if `signature` is one of `key` over the view, for the crawl with this id.
pub(super) fn is_signed(
    view: &View,
    crawl_id: &str,
    key: CoordinatorKey,
    signature: &[u8],
) -> bool {
    signature.len() == SIGNATURE_LEN && key.verifies(&bytes_of(view, crawl_id), signature)
}

/// Signs the views of one crawl, each once.
#[derive(Debug)]
pub struct ViewSigner {
    key: SigningKey,
    crawl_id: String,
    last: Mutex<Option<(View, v1::View)>>,
}

impl ViewSigner {
    /// Creates the signer of the crawl with this id.
    #[must_use]
    pub const fn new(key: SigningKey, crawl_id: String) -> Self {
        Self { key, crawl_id, last: Mutex::new(None) }
    }

    /// Returns the key.
    pub const fn key(&self) -> &SigningKey {
        &self.key
    }

    /// Returns the id of the crawl.
    pub fn crawl_id(&self) -> &str {
        &self.crawl_id
    }

    /// Returns the message of a view, with its signature.
    pub fn message(&self, view: &View) -> v1::View {
        let mut last = self.last.lock();
        if let Some((signed, message)) = &*last
            && signed == view
        {
            return message.clone();
        }
        let signature = self.key.sign(&bytes_of(view, &self.crawl_id)).into();
        let message = v1::View { signature, ..view.into() };
        *last = Some((view.clone(), message.clone()));
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::certificate_id::CertificateId;
    use crivello_common::view::{AgentId, AgentState, LostArchive, RunState};

    fn view() -> View {
        let agent = |id: u32, state| Agent {
            id: AgentId(id),
            name: format!("agent-{id}"),
            address: format!("host-{id}:7071"),
            slot: id as u16,
            weight: 2,
            state,
            joined_epoch: 4,
            disk_id: 77,
            unreplicated: false,
            certificates: vec![CertificateId([id as u8; 32])],
        };
        View {
            epoch: 7,
            run: RunState::Running,
            agents: vec![agent(1, AgentState::Active), agent(4, AgentState::Dead)],
            lost_archives: vec![LostArchive { agent: AgentId(2), safe_files: 4 }],
        }
    }

    /// The bytes are a format: other programs may verify them.
    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut short = view();
        short.agents.truncate(1);
        let expected = [
            &b"crivello view 2\n\0\x01c"[..],
            &[0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 1, 0, 0, 0, 1],
            b"\0\x07agent-1\0\x0bhost-1:7071\0\x01\0\x02\0",
            &[0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 77, 0, 1],
            &[1; 32],
            &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4],
        ];
        assert_eq!(bytes_of(&short, "c"), expected.concat());
    }

    #[test]
    fn no_field_can_be_changed_without_the_key() {
        let signer = ViewSigner::new(SigningKey::draw().unwrap(), "c".to_owned());
        let key = signer.key().public();
        let signature = signer.message(&view()).signature;
        assert_eq!(signer.message(&view()).signature, signature);
        assert!(is_signed(&view(), "c", key, &signature));
        assert!(!is_signed(&view(), "d", key, &signature), "another crawl");
        let changes: [fn(&mut View); 15] = [
            |view| view.epoch += 1,
            |view| view.run = RunState::Stopping,
            |view| view.lost_archives.clear(),
            |view| view.lost_archives[0].agent.0 = 3,
            |view| view.lost_archives[0].safe_files = 5,
            |view| drop(view.agents.pop()),
            |view| view.agents[0].id.0 = 9,
            |view| view.agents[0].name.push('x'),
            |view| view.agents[0].address = "evil:1".to_owned(),
            |view| view.agents[0].slot = 9,
            |view| view.agents[0].weight = 9,
            |view| view.agents[1].state = AgentState::Active,
            |view| view.agents[0].joined_epoch = 9,
            |view| view.agents[0].unreplicated = true,
            |view| view.agents[0].certificates.clear(),
        ];
        for (n, change) in changes.into_iter().enumerate() {
            let mut changed = view();
            change(&mut changed);
            assert_ne!(changed, view());
            assert!(!is_signed(&changed, "c", key, &signature), "change {n}");
        }
    }
}
