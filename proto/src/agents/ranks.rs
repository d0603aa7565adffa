//! Files of ranks of hosts, sent to agents.

use super::{AgentClients, Answer, Client, Scope, ask_all};
use crate::{RANKS_PART_SIZE, v1};
use crivello_common::view::{Agent, View};
use futures_util::stream;
use prost::bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of sending a file to an agent.
const SEND_TIMEOUT: Duration = Duration::from_secs(600);

/// Sends a file of ranks to all living agents of `view`, which store it. Its digest is the SHA-256 as 64 hexadecimal
/// digits.
pub async fn send_host_ranks(
    clients: &Arc<AgentClients>,
    view: &View,
    digest: &str,
    file: Bytes,
) -> Vec<(Agent, Answer<()>)> {
    ask_all(clients, view, |clients, agent| {
        let messages = parts(digest, &file);
        async move {
            let call =
                async |mut client: Client| client.put_host_ranks(stream::iter(messages)).await;
            clients.ask_within(SEND_TIMEOUT, (&agent, Scope::Order), call).await.map(drop)
        }
    })
    .await
}

/// Returns the messages of a file. They share its bytes.
fn parts(digest: &str, file: &Bytes) -> impl Iterator<Item = v1::PutHostRanksRequest> + use<> {
    let begin = v1::PutHostRanksRequest {
        digest: digest.to_owned(),
        length: file.len() as u64,
        bytes: Bytes::new(),
    };
    let file = file.clone();
    let parts = (0..file.len()).step_by(RANKS_PART_SIZE).map(move |at| v1::PutHostRanksRequest {
        bytes: file.slice(at..file.len().min(at + RANKS_PART_SIZE)),
        ..v1::PutHostRanksRequest::default()
    });
    std::iter::once(begin).chain(parts)
}
