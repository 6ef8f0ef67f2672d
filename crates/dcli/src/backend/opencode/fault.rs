//! Why a session cannot begin or go on, and the class that each reason has.

use dcli_core::exit::FailureClass;
use dcli_core::failure::{Failure, FailureSource};
use thiserror::Error;

use super::http::CallError;
use super::wire::Misshapen;
use crate::backend::brief::brief_text;

/// When it went wrong: what is found before anything was created is the environment's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before a session was made.
    Negotiation,
    /// Afterwards.
    Work,
}

/// A reason.
#[derive(Debug, Error)]
pub(super) enum Fault {
    /// Nobody wants the session any more: no failure.
    #[error("the session was told to stop")]
    Told,
    /// Its standard output does not hold the line.
    #[error(
        "the server wrote more than 1 MiB without announcing its address; no session was made; see \
         whether 'opencode serve' starts by itself"
    )]
    Unannounced,
    /// The address is somebody else's.
    #[error(
        "the server announced {url}, which is not an address of this machine alone; nothing was \
         sent to it; see what the opencode configuration says of 'server'"
    )]
    Elsewhere {
        /// What it announced.
        url: String,
    },
    /// It answers without the password.
    #[error(
        "the server at {url} answered a request without the job's password (HTTP {status}), so that \
         it is not the job's own or is open to everybody; no session was made"
    )]
    Open {
        /// Where it is.
        url: String,
        /// What it answered with.
        status: u16,
    },
    /// It does not take the password.
    #[error(
        "the server at {url} does not take the job's password, so that it is not the job's own; no \
         session was made; see whether OPENCODE_SERVER_USERNAME is set"
    )]
    Stranger {
        /// Where it is.
        url: String,
    },
    /// It says that it is not well.
    #[error("the server at {url} says that it is not healthy; no session was made; try again")]
    Unwell {
        /// Where it is.
        url: String,
    },
    /// Its version is out of range.
    #[error(
        "the server is opencode {version}; supported are versions {supported}; no session was made; \
         install one of them: npm install -g opencode-ai@1.18.33"
    )]
    Version {
        /// What it says it is.
        version: String,
        /// What the record supports.
        supported: String,
    },
    /// It lacks something that is used.
    #[error(
        "the server's own description has no {what} in {operation}; supported are versions \
         {supported}; no session was made"
    )]
    Lacks {
        /// What is missing.
        what: String,
        /// Where.
        operation: String,
        /// What the record supports.
        supported: String,
    },
    /// It works somewhere else.
    #[error(
        "the server {what} {found:?}, and not {wanted:?}; no prompt was sent; see whether the \
         directory is a link or was moved"
    )]
    Misplaced {
        /// What is elsewhere.
        what: &'static str,
        /// Where it is.
        found: String,
        /// Where it should be.
        wanted: String,
    },
    /// There is no such model.
    #[error("there is no model {model:?}; {available}; {undone}; choose with --model")]
    Model {
        /// What was asked for.
        model: String,
        /// What there is.
        available: String,
        /// What was not done.
        undone: &'static str,
    },
    /// There is no such variant of the model.
    #[error(
        "the model {model} has no variant {variant:?}; {available}; no prompt was sent; choose with \
         --variant"
    )]
    Variant {
        /// The model.
        model: String,
        /// What was asked for.
        variant: String,
        /// What there is.
        available: String,
    },
    /// It asks without end.
    #[error(
        "the server asks for more than any session does, faster than it can be answered; its tree was \
         ended; what the agent did up to then is there"
    )]
    Flood,
    /// A call was refused.
    #[error("{error}; {undone}")]
    Call {
        /// How.
        error: CallError,
        /// When.
        stage: Stage,
        /// What was not done.
        undone: &'static str,
    },
    /// An answer has another shape than was measured.
    #[error("the server answered {operation} in another form than known: {misshapen}; {undone}")]
    Shape {
        /// Of what.
        operation: &'static str,
        /// What is wrong.
        misshapen: Misshapen,
        /// When.
        stage: Stage,
        /// What was not done.
        undone: &'static str,
    },
    /// No call came through for too long.
    #[error("the server did not answer for {sec} s ({last}); its tree was ended")]
    Silent {
        /// How long, in seconds.
        sec: u64,
        /// The last error.
        last: String,
    },
    /// No session could be made.
    #[error("no session could be made in {tries} tries ({last}); no prompt was sent; try again")]
    Unmade {
        /// How often it was tried.
        tries: u8,
        /// The last error.
        last: String,
    },
    /// The prompt was sent, and it is not there.
    #[error(
        "the prompt was sent once and is not in the session {sec} s later ({last}); it was not sent \
         again, because it may still run; start a new job"
    )]
    Unconfirmed {
        /// How long it was looked for, in seconds.
        sec: u64,
        /// The last error.
        last: String,
    },
    /// Somebody else answered.
    #[error(
        "what the agent asked was answered by somebody else: {what}; what the agent did afterwards was not \
         asked for; its tree was ended; look through the changes before you keep them"
    )]
    Foreign {
        /// Which, and how it was noticed.
        what: String,
    },
    /// A refusal ended the turn.
    #[error(
        "{what} was refused, and the turn stopped with it; allow it with --allow, or have somebody \
         there who answers (--attended)"
    )]
    Refused {
        /// What.
        what: String,
    },
    /// Permissions are pending that the server cannot list.
    #[error(
        "the server could not list what it asks for {sec} s ({last}); nothing can be answered; its \
         tree was ended"
    )]
    Unlisted {
        /// How long, in seconds.
        sec: u64,
        /// The last error.
        last: String,
    },
}

/// A message of one line that a person can read.
fn shown(message: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    brief_text(&message.chars().map(plain).collect::<String>())
}

impl Fault {
    /// What it amounts to.
    pub(super) fn class(&self) -> FailureClass {
        match self {
            Self::Told => FailureClass::Cancelled,
            Self::Unannounced
            | Self::Elsewhere { .. }
            | Self::Open { .. }
            | Self::Stranger { .. }
            | Self::Unwell { .. }
            | Self::Version { .. }
            | Self::Lacks { .. }
            | Self::Misplaced { .. }
            | Self::Call { stage: Stage::Negotiation, .. }
            | Self::Shape { stage: Stage::Negotiation, .. } => FailureClass::Environment,
            Self::Call {
                stage: Stage::Work,
                error: CallError::TimedOut { .. } | CallError::Unreachable { .. },
                ..
            } => FailureClass::BackendExecutionFailed,
            Self::Shape { stage: Stage::Work, .. }
            | Self::Call { stage: Stage::Work, .. }
            | Self::Flood
            | Self::Unlisted { .. } => FailureClass::Protocol,
            Self::Model { .. }
            | Self::Variant { .. }
            | Self::Silent { .. }
            | Self::Unmade { .. }
            | Self::Unconfirmed { .. } => FailureClass::BackendExecutionFailed,
            Self::Foreign { .. } | Self::Refused { .. } => FailureClass::PermissionOrSandbox,
        }
    }

    /// The same as what a run reports; `None`: it was told to stop.
    pub(super) fn failure(&self) -> Option<Failure> {
        let source = match self {
            Self::Told => return None,
            Self::Foreign { .. } | Self::Refused { .. } => FailureSource::Permission,
            _ => FailureSource::Dcli,
        };
        Some(Failure { source, ..Failure::seen(self.class(), shown(&self.to_string())) })
    }
}
