//! A model server that says exactly what a scenario tells it to, on loopback.
//!
//! It speaks the four wire formats that coding CLIs use (Anthropic Messages, OpenAI Responses,
//! OpenAI chat completions, Gemini generateContent), and it can also misbehave on purpose: refuse,
//! stall, cut the connection. It does not check what a client sends; it records it.

mod answer;
mod call;
mod connection;
pub(crate) mod http;
mod log;
mod request;
mod scenario;
mod server;
mod wire;

pub use log::{Auth, Logged};
pub use scenario::{Cut, Scenario, ScenarioError, Stall, Tool, Turn, Usage};
pub use server::Server;
pub use wire::Wire;
