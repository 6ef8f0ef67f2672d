//! The intake: both captures read as they grow, standard output into the scanner, the end of
//! standard error kept, caps and free space watched.

use std::sync::Arc;

use dcli_core::attempt::Progress;
use dcli_core::decode::DEFAULT_LINE_CAP;
use dcli_core::executor::record::Record;
use dcli_core::executor::scan::Request;
use dcli_core::executor::{Scan, Scanner};
use dcli_core::fact::Fact;
use dcli_core::outcome::Ending;

use super::capture::{Captures, FREE_FLOOR, Reached};
use super::witness::{Stream, Testimony};

/// The most of standard error that is kept, from its end: 64 KiB.
const STDERR_KEPT: usize = 64 * 1024;
/// The most of standard error that is read: 64 MiB.
const STDERR_CAP: u64 = 64 << 20;
/// Free space is looked at each time this much more was captured: 16 MiB.
const SPACE_STEP: u64 = 16 << 20;

/// Why a truncated standard output ends a run.
const SHRUNK: &str = "the backend truncated its own standard output, and records may be lost";

/// What was read up to now, and how far.
pub(super) struct Intake {
    scanner: Scanner,
    captures: Captures,
    output_cap: u64,
    /// Whether standard output is what the record's rules are about.
    is_protocol: bool,
    /// What was asked there.
    requests: Vec<Request>,
    /// Activity that is no record.
    activity: u64,
    /// The last read left something unread.
    is_behind: bool,
    stderr: Vec<u8>,
    /// Of standard output, of standard error.
    pub(super) truncated: [bool; 2],
    space_checked_at: u64,
}

impl Intake {
    /// Nothing read yet. Beyond `output_cap` bytes a run is broken.
    pub(super) fn new(
        record: Arc<Record>,
        captures: Captures,
        output_cap: u64,
        is_protocol: bool,
    ) -> Self {
        Self {
            is_protocol,
            requests: Vec::new(),
            activity: 0,
            scanner: Scanner::new(record, DEFAULT_LINE_CAP),
            captures,
            output_cap,
            is_behind: false,
            stderr: Vec::new(),
            truncated: [false; 2],
            space_checked_at: 0,
        }
    }

    /// Whether the last read left something unread.
    pub(super) fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// What the stream has shown up to now.
    pub(super) fn scan(&self) -> &Scan {
        self.scanner.scan()
    }

    /// The same, for the attempt machine.
    pub(super) fn progress(&self) -> Progress {
        let scan = self.scan();
        Progress {
            records: scan.records,
            activity: scan.activity + self.activity,
            open_tools: scan.open_tools,
            complete: scan.complete(),
            failed: scan.failure.is_some(),
        }
    }

    /// The ends that both captures have now.
    pub(super) fn ends(&self) -> [u64; 2] {
        // One whose length is not known fails to be read too, and that is reported.
        [&self.captures.stdout, &self.captures.stderr].map(|one| one.length().unwrap_or(0))
    }

    /// Whether everything up to `ends` was read, or can be.
    pub(super) fn has_reached(&self, ends: [u64; 2]) -> bool {
        let read = [self.captures.stdout.offset(), self.captures.stderr.offset()];
        !self.is_behind || (read[0] >= ends[0] && read[1] >= ends[1])
    }

    /// Reads what is new in both captures, or a part of it, and tells of it. The answer is why the
    /// run cannot go on, if it cannot.
    pub(super) fn read(&mut self, testimony: &mut Testimony<'_>) -> Option<Ending> {
        self.is_behind = false;
        let broken = self.take_in(testimony).or_else(|| self.overrun());
        self.truncated[0] |= broken.is_some();
        broken
    }

    fn take_in(&mut self, testimony: &mut Testimony<'_>) -> Option<Ending> {
        let Self { scanner, captures, stderr, truncated, is_protocol, requests, .. } = self;
        let out = captures.stdout.read(self.output_cap, |bytes| {
            testimony.output(Stream::Stdout, bytes);
            match is_protocol {
                true => scanner.push(bytes, |fact| testimony.fact(fact)),
                // A server says there why it fails.
                false => keep_end(stderr, bytes),
            }
        });
        requests.extend(scanner.take_requests());
        let err = captures.stderr.read(STDERR_CAP, |bytes| {
            testimony.output(Stream::Stderr, bytes);
            keep_end(stderr, bytes);
        });
        match (out, err) {
            (Err(error), _) | (_, Err(error)) => Some(Ending::Capture(error.to_string())),
            (Ok(Reached::Shrunk), _) => Some(Ending::Capture(SHRUNK.to_owned())),
            (Ok(out), Ok(err)) => {
                self.is_behind = out == Reached::Pause || err == Reached::Pause;
                truncated[1] |= matches!(err, Reached::Cap | Reached::Shrunk);
                if err == Reached::Shrunk {
                    // A tool that opened /dev/stderr anew; no evidence is in it.
                    captures.stderr.rewind();
                }
                let over = out == Reached::Cap;
                (over && !std::mem::replace(&mut truncated[0], over)).then_some(Ending::Capped)
            }
        }
    }

    /// Takes in a record that came another way.
    pub(super) fn record(&mut self, record: &str, testimony: &mut Testimony<'_>) {
        self.scanner.push(record.as_bytes(), |fact| testimony.fact(fact));
        self.scanner.push(b"\n", |fact| testimony.fact(fact));
    }

    /// Something goes on that is no record.
    pub(super) fn active(&mut self) {
        self.activity += 1;
    }

    /// What was asked since the last call.
    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// For what is learned beside the stream.
    pub(super) fn scanner(&mut self) -> &mut Scanner {
        &mut self.scanner
    }

    /// What was written counts, not what was read of it: the rest fills the disk as well.
    fn overrun(&mut self) -> Option<Ending> {
        let [out, err] = self.ends();
        if err > self.output_cap {
            return Some(Ending::Capped);
        }
        let written = out.saturating_add(err);
        if written < self.space_checked_at.saturating_add(SPACE_STEP) {
            return None;
        }
        self.space_checked_at = written;
        let free = self.captures.stdout.free_space().ok()?;
        let message = format!("{free} bytes are free where it is captured");
        (free < FREE_FLOOR).then_some(Ending::Capture(message))
    }

    /// The last of standard error, lossily decoded.
    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// The end of the stream; `each` gets the facts that only it completes.
    pub(super) fn finish(self, each: impl FnMut(Fact)) -> Scan {
        self.scanner.finish(each)
    }
}

fn keep_end(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(&bytes[bytes.len().saturating_sub(STDERR_KEPT)..]);
    let over = kept.len().saturating_sub(STDERR_KEPT);
    kept.drain(..over);
}
