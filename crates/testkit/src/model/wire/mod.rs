//! The four wire formats. Each turns one [`Answer`] into stream frames or one JSON body; none of
//! them touches a socket.

mod anthropic;
mod chat;
mod gemini;
mod refusal;
mod responses;

use serde::Serialize;
use serde_json::Value;

use super::answer::{Answer, Frame};

pub(super) use refusal::{Refusal, refusal};

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Anthropic Messages: `…/messages`.
    Anthropic,
    /// OpenAI Responses: `…/responses`.
    Responses,
    /// OpenAI chat completions: `…/chat/completions`.
    Chat,
    /// Gemini: `…:generateContent`, `…:streamGenerateContent`.
    Gemini,
}

impl Wire {
    /// The format that a path belongs to.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let ends = |tail: &str| path.ends_with(tail);
        if ends("/messages") {
            Some(Self::Anthropic)
        } else if ends("/responses") {
            Some(Self::Responses)
        } else if ends("/chat/completions") {
            Some(Self::Chat)
        } else if ends(":generateContent") || ends(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    pub(super) fn frames(self, answer: &Answer) -> Vec<Frame> {
        match self {
            Self::Anthropic => anthropic::frames(answer),
            Self::Responses => responses::frames(answer),
            Self::Chat => chat::frames(answer),
            Self::Gemini => gemini::frames(answer),
        }
    }

    pub(super) fn plain(self, answer: &Answer) -> Value {
        match self {
            Self::Anthropic => anthropic::plain(answer),
            Self::Responses => responses::plain(answer),
            Self::Chat => chat::plain(answer),
            Self::Gemini => gemini::plain(answer),
        }
    }

    /// The shell tool of this format's best-known client, for a request that offers none.
    pub(super) fn shell_tool(self) -> &'static str {
        match self {
            Self::Anthropic => "Bash",
            Self::Responses => "shell",
            Self::Chat => "bash",
            Self::Gemini => "run_shell_command",
        }
    }

    /// The same for questions: some clients offer the tool only when they can show one.
    pub(super) fn ask_tool(self) -> &'static str {
        match self {
            Self::Anthropic => "AskUserQuestion",
            Self::Responses => "request_user_input",
            Self::Chat => "question",
            Self::Gemini => "ask_user",
        }
    }
}
