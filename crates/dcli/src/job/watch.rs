//! Watches for the file by which another process asks a job to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::exec::Cancel;
use crate::store::job_dir::JobDir;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks until it is dropped.
pub(super) struct CancelWatch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CancelWatch {
    /// Asks `cancel` once when somebody asked for the job's end.
    pub(super) fn new(dir: JobDir, cancel: Cancel) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let look = move || {
            while !seen.load(Ordering::Acquire) && !dir.is_cancel_requested() {
                std::thread::park_timeout(PAUSE);
            }
            if dir.is_cancel_requested() {
                cancel.ask();
            }
        };
        let builder = std::thread::Builder::new().name("dcli-cancel".into()).stack_size(64 * 1024);
        // Without this thread the job is ended by signals and deadlines alone.
        Self { over, thread: builder.spawn(look).ok() }
    }
}

impl Drop for CancelWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
