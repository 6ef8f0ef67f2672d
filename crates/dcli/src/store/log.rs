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
    stream: Stream,
    ready: Vec<u8>,
}

impl Log {
    pub(super) fn open(path: &Path, stream: Stream) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
        options.append(true).create(true).mode(0o600).custom_flags(flags);
        Ok(Self { file: options.open(path)?, stream, ready: Vec::new() })
    }

    /// Appends.
    ///
    /// # Errors
    /// Some of it was not written.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.push(bytes, &mut self.ready);
        self.flush()
    }

    /// Appends what was held back, and puts all of it on the disk.
    ///
    /// # Errors
    /// Some of it was not written or synced.
    pub fn finish(self) -> io::Result<()> {
        let Self { mut file, stream, mut ready } = self;
        stream.finish(&mut ready);
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
