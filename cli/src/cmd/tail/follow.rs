//! One agent's stream of captures, opened again when it ends.

use crate::screen;
use crivello_archive::TailPosition;
use crivello_common::view::{Agent, AgentId, View};
use crivello_proto::agents::{AgentClients, Scope};
use crivello_proto::v1::{TailPlace, TailRequest, TailResponse};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::sleep;

/// First pause after a failure; it doubles each time.
const BACKOFF_FIRST: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// An agent and its response; `None` if it has no more captures.
pub type TailEvent = (AgentId, Option<TailResponse>);

/// Reader of one agent's captures.
pub struct Follower {
    pub agent: AgentId,
    /// The last view, which has the address of the agent.
    pub view: watch::Receiver<View>,
    pub clients: Arc<AgentClients>,
    /// The place after the last capture; `None` before the first response of a reader that begins now.
    pub after: Option<TailPosition>,
}

impl Follower {
    /// Sends responses to `events` while the agent lives and the receiver is there; without `follow`, until there
    /// are no more.
    pub async fn run(mut self, follow: bool, events: Sender<TailEvent>) {
        let (mut pause, mut problem) = (BACKOFF_FIRST, String::new());
        while !events.is_closed() {
            let agent = self.view.borrow().living().find(|agent| agent.id == self.agent).cloned();
            let Some(agent) = agent else { break };
            let before = self.after;
            match self.read(&agent, follow, &events).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(why) => {
                    if why != problem {
                        screen::print_line(&format!("{}: {why}", agent.name));
                        problem = why;
                    }
                    pause = if self.after == before { pause } else { BACKOFF_FIRST };
                    sleep(pause).await;
                    pause = (pause * 2).min(BACKOFF_MAX);
                }
            }
        }
        let _ = events.send((self.agent, None)).await;
    }

    /// Reads one stream. Returns true at the end of the archive, if that is asked for.
    async fn read(
        &mut self,
        agent: &Agent,
        follow: bool,
        events: &Sender<TailEvent>,
    ) -> Result<bool, String> {
        let client = self.clients.client(agent, Scope::Read).await;
        let mut client = client.map_err(|error| error.to_string())?;
        let after = self.after.map(|at| TailPlace { file: at.file, offset: at.offset });
        let request = TailRequest { after, stop_at_end: !follow };
        let opened = client.tail(request).await.map_err(|status| status.message().to_owned())?;
        let mut stream = opened.into_inner();
        let mut at_end = false;
        while let Some(response) =
            stream.message().await.map_err(|status| status.message().to_owned())?
        {
            if let Some(at) = response.after {
                self.after = Some(TailPosition { file: at.file, offset: at.offset });
            }
            at_end = response.at_end;
            if events.send((self.agent, Some(response))).await.is_err() {
                return Ok(true);
            }
        }
        Ok(at_end)
    }
}
