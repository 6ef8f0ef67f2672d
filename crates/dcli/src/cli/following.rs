//! A run in the foreground: its progress on standard error, and signals that cancel it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcli_core::fact::FactLine;

use super::progress::Progress;
use super::signals;
use crate::exec::Hooks;
use crate::report::human::say;

/// A run that this process follows.
pub(super) struct Following {
    pub hooks: Hooks,
    progress: Arc<Progress>,
    is_over: Arc<AtomicBool>,
}

impl Following {
    /// Before a run of `backend`. Every fact goes to the progress line, and to `on_fact`.
    pub(super) fn new(backend: &str, on_fact: impl Fn(&FactLine) + Send + Sync + 'static) -> Self {
        let progress = Arc::new(Progress::new(backend));
        let line = Arc::clone(&progress);
        let hooks = Hooks {
            on_fact: Some(Arc::new(move |fact| {
                line.fact(&fact.fact);
                on_fact(fact);
            })),
            ..Hooks::default()
        };
        let line = Arc::clone(&progress);
        hooks.cancel.listen(move || {
            line.cancelling();
            true
        });
        let is_over = Arc::new(AtomicBool::new(false));
        if let Err(error) = signals::cancel_on_signals(hooks.cancel.clone(), Arc::clone(&is_over)) {
            say(&format!("dcli: signals will not cancel this run: {error}"));
        }
        Self { hooks, progress, is_over }
    }

    /// The run has ended: its answer is still to be printed.
    pub(super) fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.progress.end();
    }
}
