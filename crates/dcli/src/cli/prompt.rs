//! The prompt: from a file, from words, from standard input; each wait is bounded.

use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use dcli_core::fact::Warning;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use thiserror::Error;

/// The first byte of standard input must come within this.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// Its end must come within this after the first byte.
const END: Duration = Duration::from_secs(60);
/// The longest prompt: 64 MiB.
const MOST: u64 = 64 << 20;

/// No prompt. Nothing was started.
#[derive(Debug, Error)]
pub(super) enum PromptError {
    #[error("no prompt: give words, --prompt-file FILE, or pipe it in")]
    Absent,
    #[error("give the prompt as words or as --prompt-file, not both")]
    Twice,
    #[error("the prompt file {path} cannot be read: {source}; name a readable file")]
    File { path: String, source: io::Error },
    #[error("{source_name} is not UTF-8 (first bad byte at {at}); convert it to UTF-8")]
    NotUtf8 { source_name: String, at: usize },
    #[error(
        "standard input is open and sent nothing for {} s, and there is no other prompt; give \
         words or --prompt-file, or close it (</dev/null)",
        FIRST_BYTE.as_secs()
    )]
    Silent,
    #[error(
        "standard input did not end within {} s of its first byte; close it after the prompt",
        END.as_secs()
    )]
    Endless,
    #[error("the prompt is over {} MiB; put what it is about into files", MOST >> 20)]
    TooLong,
    #[error("standard input cannot be read: {0}")]
    Input(io::Error),
}

/// The prompt and what the caller should know about how it was read.
#[derive(Debug)]
pub(super) struct Prompt {
    pub text: String,
    pub warning: Option<Warning>,
}

/// Reads the prompt. Words (or a file) and piped data: the data follows, after a blank line.
pub(super) fn read(words: &[String], file: Option<&Path>) -> Result<Prompt, PromptError> {
    let given = match (words.is_empty(), file) {
        (false, Some(_)) => return Err(PromptError::Twice),
        (false, None) => Some(words.join(" ")),
        (true, Some(path)) => Some(read_file(path)?),
        (true, None) => None,
    };
    match (given, piped()) {
        (None, Ok(Some(text))) => Ok(Prompt { text, warning: None }),
        (None, Ok(None)) => Err(PromptError::Absent),
        (Some(text), Ok(data)) => {
            let data = data.filter(|data| !data.is_empty());
            let text = data.map_or_else(|| text.clone(), |data| format!("{text}\n\n{data}"));
            Ok(Prompt { text, warning: None })
        }
        (Some(text), Err(PromptError::Silent)) => {
            let message = format!(
                "standard input is open and sent nothing for {} s; it was left out",
                FIRST_BYTE.as_secs()
            );
            Ok(Prompt { text, warning: Some(Warning::new("stdin_silent", message)) })
        }
        (_, Err(error)) => Err(error),
    }
}

fn read_file(path: &Path) -> Result<String, PromptError> {
    let name = path.display().to_string();
    let unreadable = |source| PromptError::File { path: name.clone(), source };
    // A pipe without a writer would be waited for.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let file = std::fs::File::from(opened.map_err(|error| unreadable(error.into()))?);
    let meta = file.metadata().map_err(unreadable)?;
    if meta.is_dir() {
        return Err(unreadable(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    if !meta.is_file() {
        return Err(unreadable(io::Error::other("not a regular file; pipe it in instead")));
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    text(bytes, format!("the prompt file {name}"))
}

/// What is piped in; nothing where standard input is a terminal or closed.
fn piped() -> Result<Option<String>, PromptError> {
    let input = io::stdin();
    if input.is_terminal() || rustix::io::fcntl_getfd(input.as_fd()).is_err() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let mut deadline = Instant::now() + FIRST_BYTE;
    loop {
        if !readable(&input, deadline).map_err(PromptError::Input)? {
            return Err(if bytes.is_empty() { PromptError::Silent } else { PromptError::Endless });
        }
        let mut chunk = [0_u8; 64 * 1024];
        let count = match rustix::io::read(input.as_fd(), &mut chunk) {
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
            other => other.map_err(|error| PromptError::Input(error.into()))?,
        };
        if count == 0 {
            return text(bytes, "standard input".to_owned()).map(Some);
        }
        if bytes.is_empty() {
            deadline = Instant::now() + END;
        }
        bytes.extend_from_slice(&chunk[..count]);
        if bytes.len() as u64 > MOST {
            return Err(PromptError::TooLong);
        }
    }
}

fn readable(input: &impl AsFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut ready = [PollFd::new(input, PollFlags::IN)];
        match poll(&mut ready, Some(&wait)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(count) => return Ok(count > 0),
        }
    }
}

fn text(bytes: Vec<u8>, source_name: String) -> Result<String, PromptError> {
    if bytes.len() as u64 > MOST {
        return Err(PromptError::TooLong);
    }
    let bytes = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => rest.to_vec(),
        None => bytes,
    };
    String::from_utf8(bytes)
        .map_err(|error| PromptError::NotUtf8 { source_name, at: error.utf8_error().valid_up_to() })
}
