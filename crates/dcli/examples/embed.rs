//! A program that is not dcli and hands a prompt to a coding CLI through the library.
//!
//! ```text
//! cargo run --example embed -- codex "Say OK." [PROGRAM]
//! ```
//!
//! Its first call is `contain::entry()`: a contained start runs this same executable again as the
//! tiny init, and in that process the call never returns. Without it, `Entry::current()` refuses
//! and nothing is started.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to people")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use dcli::contain::{self, Entry};
use dcli::exec::{Hooks, Host, Request, exec};
use dcli::model::executor::Catalogue;
use dcli::model::fact::{Fact, FactLine};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    contain::entry();
    let mut words = std::env::args().skip(1);
    let backend = words.next().unwrap_or_else(|| "codex".to_owned());
    let prompt = words.next().unwrap_or_else(|| "Reply with the single word OK.".to_owned());

    let catalogue = Catalogue::shipped()?;
    let executor = catalogue.find(&backend)?.clone();
    let mut request = Request::new(executor, prompt, std::env::current_dir()?);
    request.timeouts.hard = Duration::from_secs(300);
    request.command = words.next().map(Into::into);

    let hooks = Hooks {
        on_fact: Some(Arc::new(|line: &FactLine| {
            if let Fact::ToolInvoked { tool, summary, .. } = &line.fact {
                let (tool, summary) = (tool.as_deref(), summary.as_deref());
                eprintln!("{}: {}", tool.unwrap_or("tool"), summary.unwrap_or_default());
            }
        })),
        ..Hooks::default()
    };
    let envelope = exec(&Host::new(Entry::current()?), request, &hooks);
    println!("{}", serde_json::to_string_pretty(&envelope)?);
    Ok(ExitCode::from(envelope.exit_code()))
}
