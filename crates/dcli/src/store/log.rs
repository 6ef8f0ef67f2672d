//! A log that is appended to, redacted as it comes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use dcli_core::redact::Stream;

/// A log. What may be the beginning of a secret is held back until more comes.
#[derive(Debug)]
pub struct Log {
    file: File,
    /// `None` once the log is full.
    stream: Option<Stream>,
    ready: Vec<u8>,
    /// How many more bytes are taken; `None`: all that come.
    room: Option<usize>,
}

/// The last line of a log that is full.
const FULL: &[u8] = b"\n[dcli: this log is full; what came after it was read and not kept]\n";

impl Log {
    pub(super) fn open(path: &Path, stream: Stream) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
        options.append(true).create(true).mode(0o600).custom_flags(flags);
        let file = options.open(path)?;
        Ok(Self { file, stream: Some(stream), ready: Vec::new(), room: None })
    }

    /// The same, up to so many bytes: what comes after them is taken and not kept.
    #[must_use]
    pub fn capped(self, bytes: usize) -> Self {
        Self { room: Some(bytes), ..self }
    }

    /// Appends.
    ///
    /// # Errors
    /// Some of it was not written.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let room = self.room.unwrap_or(usize::MAX);
        let taken = &bytes[..bytes.len().min(room)];
        self.room = self.room.map(|room| room - taken.len());
        stream.push(taken, &mut self.ready);
        if taken.len() < bytes.len() && self.stream.take().is_some() {
            // What was held back may be the first half of a secret, and is left out.
            self.ready.extend_from_slice(FULL);
        }
        self.flush()
    }

    /// Appends what was held back, and puts all of it on the disk.
    ///
    /// # Errors
    /// Some of it was not written or synced.
    pub fn finish(self) -> io::Result<()> {
        let Self { mut file, stream, mut ready, .. } = self;
        if let Some(stream) = stream {
            stream.finish(&mut ready);
        }
        file.write_all(&ready)?;
        match file.metadata()?.len() {
            // There is nothing in it that could be lost.
            0 => Ok(()),
            _ => file.sync_data(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.ready);
        self.ready.clear();
        written
    }
}

#[cfg(test)]
mod tests {
    use dcli_core::redact::Redactor;

    use super::*;

    fn kept(cap: usize, pieces: &[&str]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let redactor = Redactor::new([("PASSWORD".to_owned(), "0123456789abcdef".to_owned())]);
        let mut log = Log::open(&path, redactor.stream()).unwrap().capped(cap);
        for piece in pieces {
            log.push(piece.as_bytes()).unwrap();
        }
        log.finish().unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_full_log_says_so_once_and_takes_the_rest_without_keeping_it() {
        let text = kept(1000, &["all of it\n", "more\n"]);
        assert_eq!(text, "all of it\nmore\n");
        let long = "x\n".repeat(4000);
        let text = kept(6000, &[&long, &long, "the end\n"]);
        assert!(text.starts_with("x\nx\n") && !text.contains("the end"), "{text}");
        assert_eq!(text.matches("this log is full").count(), 1);
    }

    #[test]
    fn a_secret_that_the_cap_cuts_in_two_is_not_kept_by_half() {
        for cap in 5..25 {
            let text = kept(cap, &["word 0123456789abcdef and more words that are not kept"]);
            assert!(!text.contains("0123"), "{cap}: {text}");
        }
    }
}
