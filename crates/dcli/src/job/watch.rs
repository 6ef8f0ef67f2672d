//! Watches for the files by which other processes ask a job to end, and answer what it asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::inbox::Inbox;
use crate::exec::Hooks;
use crate::store::job_writer::JobWriter;
use crate::store::root::WritableRoot;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// What the looking thread needs: it reads an answer and a status.
const STACK: usize = 512 * 1024;

/// Looks until it is dropped.
pub(super) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Asks for the job's end once when somebody wants it, and hands over every answer, for as long
    /// as nobody wants the end. Nobody answers a job that is not attended.
    pub(super) fn new(
        writer: &JobWriter,
        root: &WritableRoot,
        hooks: &Hooks,
        is_attended: bool,
    ) -> Self {
        let dir = writer.dir().clone();
        let inbox = is_attended.then(|| Inbox::open(writer, root, hooks));
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let cancel = hooks.cancel.clone();
        let look = move || {
            while !seen.load(Ordering::Acquire) && !dir.is_cancel_requested() {
                inbox.iter().for_each(Inbox::look);
                std::thread::park_timeout(PAUSE);
            }
            if dir.is_cancel_requested() {
                cancel.ask();
            }
            while !seen.load(Ordering::Acquire) {
                std::thread::park();
            }
            inbox.iter().for_each(Inbox::close);
        };
        let builder = std::thread::Builder::new().name("dcli-watch-job".into()).stack_size(STACK);
        // Without this thread the job is ended by signals and deadlines alone, and not answered.
        Self { over, thread: builder.spawn(look).ok() }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
