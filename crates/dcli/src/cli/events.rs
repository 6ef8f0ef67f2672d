//! Facts on standard output as they come, and the envelope last. A thread of its own writes them: a
//! reader that is slow, or never reads, must not keep a run from its deadlines.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use dcli_core::envelope::ResultEnvelope;
use dcli_core::fact::{FactLine, SCHEMA_VERSION};
use dcli_core::report::{EnvelopeLine, EnvelopeTag};

use crate::exec::stamp;
use crate::report::json;

/// The most that is written at once: 256 KiB.
const CHUNK: usize = 256 * 1024;

/// Facts on their way to standard output.
pub(super) struct Events {
    spool: Arc<Spool>,
    writer: JoinHandle<io::Result<()>>,
}

impl Events {
    /// Lines wait in `file`, which nobody else writes, for a reader that is slower than the backend.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let spool = Arc::new(Spool { file, state: Mutex::default(), changed: Condvar::new() });
        let source = Arc::clone(&spool);
        let builder = std::thread::Builder::new().name("dcli-events".into()).stack_size(64 * 1024);
        let writer = builder.spawn(move || {
            let written = source.copy_to(&mut io::stdout());
            source.lock().is_closed = true;
            written
        })?;
        Ok(Self { spool, writer })
    }

    /// What takes facts in.
    pub(super) fn spool(&self) -> Arc<Spool> {
        Arc::clone(&self.spool)
    }

    /// Waits until everything is written, and writes the envelope.
    ///
    /// # Errors
    /// A part could not be written, for a reason other than a reader that has gone.
    pub(super) fn end(self, envelope: &ResultEnvelope) -> io::Result<()> {
        let seq = self.spool.end();
        let written = self.writer.join().unwrap_or_else(|_| Err(io::Error::other("lost")));
        line(seq + 1, envelope)?;
        written.and(self.spool.lock().failed.take().map_or(Ok(()), Err))
    }
}

/// The envelope as the last line, `seq` after the facts.
pub(super) fn line(seq: u64, envelope: &ResultEnvelope) -> io::Result<()> {
    let (at, r#type, envelope) = (stamp::now(), EnvelopeTag::Envelope, envelope.clone());
    let line = EnvelopeLine { schema_version: SCHEMA_VERSION, seq, at, r#type, envelope };
    json::line(&mut io::stdout().lock(), &line)
}

/// Lines that are not written yet, in a file: its length is what a slow reader costs.
pub(super) struct Spool {
    file: File,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How much was put in and taken out since the file was last empty.
    put: u64,
    taken: u64,
    /// The last fact's number.
    seq: u64,
    is_ended: bool,
    /// The reader has gone: it is told nothing more, and the run goes on to its end.
    is_closed: bool,
    failed: Option<io::Error>,
}

impl Spool {
    /// Takes a fact in.
    pub(super) fn fact(&self, fact: &FactLine) {
        let mut bytes = Vec::new();
        let made = json::line(&mut bytes, fact);
        let mut state = self.lock();
        state.seq = fact.seq;
        if state.is_closed || state.failed.is_some() {
            return;
        }
        match made.and_then(|()| self.file.write_all_at(&bytes, state.put)) {
            Ok(()) => state.put += bytes.len() as u64,
            Err(error) => state.failed = Some(error),
        }
        self.changed.notify_one();
    }

    fn end(&self) -> u64 {
        let mut state = self.lock();
        state.is_ended = true;
        self.changed.notify_one();
        state.seq
    }

    fn copy_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut chunk = vec![0_u8; CHUNK];
        while let Some(length) = self.take(&mut chunk)? {
            let written = out.write_all(&chunk[..length]).and_then(|()| out.flush());
            match written {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                other => other?,
            }
        }
        Ok(())
    }

    /// Waits for what comes next; `None` after the end.
    fn take(&self, chunk: &mut [u8]) -> io::Result<Option<usize>> {
        let mut state = self.lock();
        while state.taken == state.put {
            if state.is_ended {
                return Ok(None);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let left = usize::try_from(state.put - state.taken).unwrap_or(CHUNK);
        let length = left.min(chunk.len());
        self.file.read_exact_at(&mut chunk[..length], state.taken)?;
        state.taken += length as u64;
        if state.taken == state.put {
            (state.put, state.taken) = (0, 0);
            self.file.set_len(0)?;
        }
        Ok(Some(length))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
