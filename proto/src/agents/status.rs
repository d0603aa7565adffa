//! Status of an agent, as its clients read it.

use crate::v1::{Progress, RecrawlProgress, StatusResponse};
use crivello_common::completion::AgentReply;

/// The status of an agent, and the progress of its part of the crawl, which the status no longer has.
pub type AgentStatus = (StatusResponse, Progress);

impl StatusResponse {
    /// Returns the part of the status that decides if the crawl is complete.
    pub const fn reply(&self) -> AgentReply {
        AgentReply { process: self.process, epoch: self.epoch, idle: self.idle, work: self.work }
    }
}

impl RecrawlProgress {
    /// Returns the number of visits of pages that were fetched before.
    pub const fn visits(&self) -> u64 {
        self.changed + self.unchanged + self.not_modified + self.failed
    }
}
