//! Failures of calls to agents.

use tonic::{Code, Status};

/// The reason why a call to an agent failed. The message follows the agent's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentCallError {
    /// The agent does not know the call: it has an older version.
    #[error("cannot do this: it runs an older version of crivello")]
    Unsupported,
    /// The agent rejected the request.
    #[error("{0}")]
    Rejected(String),
    /// The state to which the call refers has changed since the call before.
    #[error("{0}")]
    Changed(String),
    /// The agent did not respond.
    #[error("{0}")]
    Unreachable(String),
}

impl AgentCallError {
    pub(super) fn other_agent() -> Self {
        Self::Unreachable("another agent responds at its address".to_owned())
    }
}

impl From<Status> for AgentCallError {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::Unimplemented => Self::Unsupported,
            Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition => {
                Self::Rejected(status.message().to_owned())
            }
            Code::Aborted => Self::Changed(status.message().to_owned()),
            Code::DeadlineExceeded | Code::Internal => {
                Self::Unreachable(format!("cannot answer: {}", status.message()))
            }
            Code::ResourceExhausted => Self::Unreachable(format!("is busy: {}", status.message())),
            _ => Self::Unreachable(format!("cannot be reached: {}", status.message())),
        }
    }
}

/// The result of a call to an agent.
pub type Answer<T> = Result<T, AgentCallError>;
