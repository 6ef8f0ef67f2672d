//! What is written to a backend's standard input: by a thread of its own, so that a backend that
//! does not read holds up nothing but that thread.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

/// A pipe that is written line by line.
pub(super) struct Pen {
    lines: Option<Sender<String>>,
    unused: Option<(File, Receiver<String>)>,
}

impl Pen {
    /// Nothing is written before [`Pen::begin`].
    pub(super) fn new(pipe: OwnedFd) -> Self {
        let (lines, queue) = channel();
        Self { lines: Some(lines), unused: Some((File::from(pipe), queue)) }
    }

    /// Begins to write, also what was given before.
    ///
    /// # Errors
    /// The system gives no thread; the pipe is closed.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let Some((mut pipe, queue)) = self.unused.take() else { return Ok(()) };
        let write = move || {
            // A backend that closed its end says on its output why: the stream decides.
            let _ = queue.iter().try_for_each(|line: String| pipe.write_all(line.as_bytes()));
        };
        thread::Builder::new().name("answers".to_owned()).spawn(write).map(drop)
    }

    /// One JSON value, as one line. After [`Pen::close`] it is dropped.
    pub(super) fn write(&self, value: &Value) {
        if let Some(lines) = &self.lines {
            // Nobody takes it where the pipe broke.
            let _ = lines.send(format!("{value}\n"));
        }
    }

    /// Once all that was given is written, the pipe is closed.
    pub(super) fn close(&mut self) {
        self.lines = None;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};

    use rustix::pipe::{PipeFlags, pipe_with};
    use serde_json::json;

    use super::*;

    fn pen() -> (Pen, File) {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (Pen::new(writer), File::from(reader))
    }

    #[test]
    fn what_is_more_than_a_pipe_holds_is_taken_at_once_and_written_whole_before_the_end() {
        let (mut pen, reader) = pen();
        let long = json!({"text": "line\n\u{2028}\"é\" ".repeat(100_000)});
        pen.write(&long);
        pen.begin().unwrap();
        pen.write(&json!({"last": true}));
        pen.close();
        pen.write(&json!({"after": "the end"}));
        let lines: Vec<String> = BufReader::new(reader).lines().map(Result::unwrap).collect();
        let values = lines.iter().map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(values.collect::<Vec<Value>>(), [long, json!({"last": true})]);
    }

    #[test]
    fn a_reader_that_is_gone_is_no_error_and_a_pen_that_is_dropped_closes_its_pipe() {
        let (mut gone, reader) = pen();
        drop(reader);
        gone.begin().unwrap();
        gone.write(&json!("nobody reads this"));
        gone.write(&json!("nor this"));

        let (mut dropped, mut reader) = pen();
        dropped.begin().unwrap();
        drop(dropped);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}
