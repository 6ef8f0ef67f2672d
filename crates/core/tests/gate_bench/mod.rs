//! A gate with a scripted executor behind it, and books of what happened.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dcli_core::gate::{
    Caps, Cost, Event, Execute, Gate, Log, LogRecord, MemoryLedger, Passed, Policy, Preferences,
    Refusal, Runner,
};

/// What a run should do; its result is what it cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Job {
    pub(crate) estimate: f64,
    pub(crate) actual: Option<f64>,
    pub(crate) panics: bool,
}

#[derive(Clone, Default)]
pub(crate) struct Worker {
    pub(crate) runs: Arc<AtomicUsize>,
}

impl Execute<Job, Option<f64>> for Worker {
    fn estimate(&self, job: &Job) -> Cost {
        cost(job.estimate)
    }

    fn run(&self, job: &Job) -> Option<f64> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        assert!(!job.panics, "the run panics");
        job.actual
    }

    fn actual(&self, result: &Option<f64>) -> Option<Cost> {
        result.map(cost)
    }
}

#[derive(Default)]
pub(crate) struct Book(pub(crate) Mutex<Vec<LogRecord>>);

impl Log for Book {
    fn write(&self, record: &LogRecord) {
        self.0.lock().unwrap().push(record.clone());
    }
}

pub(crate) struct Bench {
    pub(crate) ledger: Arc<MemoryLedger>,
    pub(crate) book: Arc<Book>,
    pub(crate) worker: Worker,
    pub(crate) runner: Runner<Job, Option<f64>>,
}

pub(crate) fn cost(tokens: f64) -> Cost {
    Cost::new(tokens).unwrap()
}

pub(crate) fn bench(caps: Caps, policy: impl Policy<Job, Option<f64>> + 'static) -> Bench {
    let (ledger, book) = (Arc::new(MemoryLedger::new()), Arc::new(Book::default()));
    let (worker, choice) = (Worker::default(), Preferences::default().choose("claude"));
    let gate = Gate::new(caps, ledger.clone(), Arc::new(policy), book.clone());
    let runner = gate.runner(choice, worker.clone());
    Bench { ledger, book, worker, runner }
}

impl Bench {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.book.0.lock().unwrap().iter().map(|record| record.event.clone()).collect()
    }

    pub(crate) fn run(&self, job: Job) -> Result<Passed<Option<f64>>, Refusal> {
        self.runner.run("action", &job)
    }

    pub(crate) fn runs(&self) -> usize {
        self.worker.runs.load(Ordering::SeqCst)
    }

    /// Nothing was started and nothing counted.
    pub(crate) fn assert_untouched(&self) {
        assert_eq!((self.runs(), self.ledger.invocations(), self.ledger.concurrent()), (0, 0, 0));
        assert_eq!(self.ledger.spent(), Cost::ZERO);
    }
}

pub(crate) fn of(estimate: f64, actual: Option<f64>) -> Job {
    Job { estimate, actual, panics: false }
}
