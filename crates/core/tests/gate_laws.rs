//! The gate: closed guards, one proceed, a charge on every way out, and a log of one shape.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod gate_bench;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dcli_core::gate::{
    AdmitError, AllowAll, AroundFault, Call, Caps, Choice, Cost, Event, Gate, GuardFault, Layer,
    Ledger, LedgerError, Log, LogRecord, MemoryLedger, Policy, Preferences, Proceed, Refusal,
    Silent, Ticket, Verdict,
};
use serde_json::{Value, json};

use gate_bench::{Bench, Book, Job, Worker, bench, cost, of};

type Judgement = fn() -> Result<Verdict, GuardFault>;
type Preparation = fn() -> Result<(), String>;

/// A policy made of one answer, which may panic.
struct Judge(Judgement);

impl Policy<Job, Option<f64>> for Judge {
    fn guard(&self, _: &Call<'_, Job>) -> Result<Verdict, GuardFault> {
        (self.0)()
    }
}

#[test]
fn everything_but_an_explicit_allow_closes_and_nothing_is_counted() {
    let failed = GuardFault::Failed { reason: "no answer".into() };
    let cases: [(Judgement, Refusal); 5] = [
        (
            || Ok(Verdict::Deny { reason: "not now".into() }),
            Refusal::Denied { reason: "not now".into() },
        ),
        (|| Ok(Verdict::Deny { reason: " ".into() }), Refusal::Guard(GuardFault::Malformed)),
        (|| Verdict::read(&json!({"verdict": "maybe"})), Refusal::Guard(GuardFault::Malformed)),
        (|| Err(GuardFault::Failed { reason: "no answer".into() }), Refusal::Guard(failed)),
        (|| panic!("the guard panics"), Refusal::GuardPanicked),
    ];
    for (judge, refusal) in cases {
        let bench = bench(Caps::UNLIMITED, Judge(judge));
        assert_eq!(bench.run(Job::default()), Err(refusal.clone()));
        bench.assert_untouched();
        let denied = Event::Denied { reason: refusal.to_string() };
        assert_eq!(bench.events(), [Event::Requested { estimate: Cost::ZERO }, denied]);
    }
}

#[test]
fn only_two_shapes_of_a_foreign_answer_are_read() {
    assert_eq!(Verdict::read(&json!({"verdict": "allow"})), Ok(Verdict::Allow));
    let deny = json!({"verdict": "deny", "reason": "no"});
    assert_eq!(Verdict::read(&deny), Ok(Verdict::Deny { reason: "no".into() }));
    let malformed = [
        json!(true),
        json!("allow"),
        json!(null),
        json!({}),
        json!({"allow": true}),
        json!({"verdict": true}),
        json!({"verdict": "Allow"}),
        json!({"verdict": "allow", "reason": "sure"}),
        json!({"verdict": "deny"}),
        json!({"verdict": "deny", "reason": ""}),
        json!({"verdict": "deny", "reason": null}),
        json!([{"verdict": "allow"}]),
        json!(["allow", {}]),
    ];
    for answer in malformed {
        assert_eq!(Verdict::read(&answer), Err(GuardFault::Malformed), "{answer}");
    }
}

struct Pre(Preparation, Arc<AtomicBool>);

impl Policy<Job, Option<f64>> for Pre {
    fn pre(&self, _: &Call<'_, Job>) -> Result<(), String> {
        (self.0)()
    }

    fn guard(&self, _: &Call<'_, Job>) -> Result<Verdict, GuardFault> {
        self.1.store(true, Ordering::SeqCst);
        Ok(Verdict::Allow)
    }
}

#[test]
fn a_request_that_pre_refuses_never_reaches_the_guard() {
    let cases: [(Preparation, Refusal); 2] = [
        (|| Err("blank prompt".into()), Refusal::Invalid { reason: "blank prompt".into() }),
        (|| panic!("pre panics"), Refusal::GuardPanicked),
    ];
    for (pre, refusal) in cases {
        let guarded = Arc::new(AtomicBool::new(false));
        let bench = bench(Caps::UNLIMITED, Pre(pre, guarded.clone()));
        assert_eq!(bench.run(Job::default()), Err(refusal));
        assert!(!guarded.load(Ordering::SeqCst));
        bench.assert_untouched();
    }
}

type Way<'a> = &'a mut dyn Proceed<Option<f64>>;

struct Around(fn(Way<'_>) -> Result<Option<f64>, AroundFault>, AtomicUsize);

impl Policy<Job, Option<f64>> for Around {
    fn guard(&self, _: &Call<'_, Job>) -> Result<Verdict, GuardFault> {
        Ok(Verdict::Allow)
    }

    fn around(&self, _: &Call<'_, Job>, way: Way<'_>) -> Result<Option<f64>, AroundFault> {
        (self.0)(way)
    }

    fn post(&self, _: &Call<'_, Job>, _: &Option<f64>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        panic!("post panics");
    }
}

fn around(rule: fn(Way<'_>) -> Result<Option<f64>, AroundFault>) -> Bench {
    bench(Caps::UNLIMITED, Around(rule, AtomicUsize::new(0)))
}

#[test]
fn a_second_proceed_is_refused_and_the_run_happens_once() {
    let insists = around(|way| {
        way.proceed()?;
        way.proceed()
    });
    let refused = insists.run(of(1.0, Some(9.0)));
    assert_eq!(refused, Err(Refusal::Around(AroundFault::ProceededTwice)));
    assert_eq!((insists.runs(), insists.ledger.spent()), (1, cost(9.0)));

    let gives_in = around(|way| {
        let first = way.proceed()?;
        assert_eq!(way.proceed(), Err(AroundFault::ProceededTwice));
        Ok(first)
    });
    assert_eq!(gives_in.run(of(1.0, Some(9.0))).unwrap().result, Some(9.0));
    assert_eq!(gives_in.runs(), 1);
}

#[test]
fn around_that_never_proceeds_or_changes_the_result_is_charged_by_what_really_ran() {
    let never = around(|_| Ok(Some(1.0)));
    assert_eq!(never.run(of(5.0, Some(9.0))).unwrap().settled, Ok(cost(5.0)));
    assert_eq!(never.runs(), 0);
    let hides = around(|way| way.proceed().map(|_| None));
    assert_eq!(hides.run(of(5.0, Some(9.0))).unwrap().settled, Ok(cost(9.0)));
    let gives_up = around(|_| Err(AroundFault::Failed { reason: "enough".into() }));
    assert!(gives_up.run(of(5.0, None)).is_err());
    assert_eq!((gives_up.ledger.spent(), gives_up.ledger.concurrent()), (cost(5.0), 0));
}

#[test]
fn a_panic_of_the_run_or_around_it_goes_on_and_is_charged_all_the_same() {
    let in_run = bench(Caps::UNLIMITED, AllowAll);
    let in_around = around(|way| {
        way.proceed()?;
        panic!("around panics")
    });
    for (bench, job, charge) in [
        (in_run, Job { estimate: 4.0, actual: None, panics: true }, 4.0),
        (in_around, of(4.0, Some(6.0)), 6.0),
    ] {
        let panic = catch_unwind(AssertUnwindSafe(|| bench.run(job))).unwrap_err();
        let said = panic.downcast_ref::<&str>().unwrap();
        assert!(said.ends_with("panics"), "{said}");
        assert_eq!((bench.ledger.spent(), bench.ledger.concurrent()), (cost(charge), 0));
        let last = bench.events().pop().unwrap();
        let Event::Settled { proceeded: true, completed: false, .. } = last else {
            panic!("{last:?}")
        };
    }
}

#[test]
fn a_panic_of_post_is_logged_and_the_result_stands() {
    let bench = around(|way| way.proceed());
    assert_eq!(bench.run(of(0.0, Some(2.0))).unwrap().result, Some(2.0));
    assert_eq!(bench.events().pop(), Some(Event::PostFailed));
}

struct Broken;

impl Log for Broken {
    fn write(&self, _: &LogRecord) {
        panic!("the log panics");
    }
}

#[test]
fn a_log_that_panics_leaves_no_run_unsettled() {
    let ledger = Arc::new(MemoryLedger::new());
    let gate = Gate::new(Caps::UNLIMITED, ledger.clone(), Arc::new(AllowAll), Arc::new(Broken));
    let runner = gate.runner(Preferences::default().choose("claude"), Worker::default());
    assert!(runner.run("action", &Job::default()).is_ok());
    assert_eq!((ledger.invocations(), ledger.concurrent()), (1, 0));
}

/// A ledger whose storage fails at one of the two steps.
struct Failing {
    admits: bool,
}

impl Failing {
    fn error() -> LedgerError {
        LedgerError::Unavailable { reason: "disk full".into() }
    }
}

impl Ledger for Failing {
    fn admit(&self, _: &Caps, _: Cost) -> Result<Ticket, AdmitError> {
        if self.admits { Ok(Ticket(1)) } else { Err(Self::error().into()) }
    }

    fn would_admit(&self, _: &Caps, _: Cost) -> Result<(), AdmitError> {
        if self.admits { Ok(()) } else { Err(Self::error().into()) }
    }

    fn settle(&self, _: Ticket, _: Cost) -> Result<(), LedgerError> {
        Err(Self::error())
    }
}

#[test]
fn a_ledger_that_cannot_admit_closes_and_one_that_cannot_settle_says_so() {
    for admits in [false, true] {
        let worker = Worker::default();
        let ledger = Arc::new(Failing { admits });
        let gate = Gate::new(Caps::UNLIMITED, ledger, Arc::new(AllowAll), Arc::new(Silent));
        let runner = gate.runner(Preferences::default().choose("claude"), worker.clone());
        let answer = runner.run("action", &of(0.0, Some(1.0)));
        assert_eq!(worker.runs.load(Ordering::SeqCst), usize::from(admits));
        match answer {
            Ok(passed) => assert_eq!(passed.settled, Err(Failing::error())),
            Err(refusal) => assert_eq!(refusal, Refusal::Ledger(Failing::error())),
        }
    }
}

#[test]
fn the_log_has_one_closed_shape_and_names_the_layer_that_chose() {
    let preferences = Preferences { user: Some("codex"), project: None, invocation: None };
    let book = Arc::new(Book::default());
    let ledger = Arc::new(MemoryLedger::new());
    let gate = Gate::new(Caps::UNLIMITED, ledger, Arc::new(AllowAll), book.clone());
    let runner = gate.runner(preferences.choose("claude"), Worker::default());
    assert_eq!((runner.executor_id(), runner.layer()), ("codex", Layer::User));
    runner.run("a-1", &of(2.0, Some(3.0))).unwrap();
    let written: Vec<Value> =
        book.0.lock().unwrap().iter().map(|record| serde_json::to_value(record).unwrap()).collect();
    let record = |event: Value| {
        json!({"schema_version": 1, "executor_id": "codex", "layer": "user", "action_id": "a-1",
               "event": event})
    };
    let expected = [
        record(json!({"type": "requested", "estimate": 2.0})),
        record(json!({"type": "admitted", "estimate": 2.0})),
        record(json!({"type": "settled", "charge": 3.0, "actual": 3.0, "proceeded": true,
                      "completed": true})),
    ];
    assert_eq!(written, expected);
    for value in written {
        let read: LogRecord = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        let mut open = value;
        open["prompt"] = json!("leaks");
        assert!(serde_json::from_value::<LogRecord>(open).is_err());
    }
}

#[test]
fn the_strongest_layer_that_speaks_chooses() {
    let all = Preferences { user: Some("u"), project: Some("p"), invocation: Some("i") };
    let chosen = |preferences: Preferences<'_>| {
        let Choice { executor_id, layer } = preferences.choose("d");
        (executor_id, layer)
    };
    assert_eq!(chosen(all), ("i".into(), Layer::Invocation));
    assert_eq!(chosen(Preferences { invocation: None, ..all }), ("p".into(), Layer::Project));
    assert_eq!(
        chosen(Preferences { user: Some("u"), ..Default::default() }),
        ("u".into(), Layer::User)
    );
    assert_eq!(chosen(Preferences::default()), ("d".into(), Layer::Default));
}

#[test]
fn a_runner_shows_its_choice_and_nothing_of_its_executor() {
    let bench = bench(Caps::UNLIMITED, AllowAll);
    let shown = format!("{:?}", bench.runner);
    assert!(shown.contains("claude") && !shown.contains("Worker"), "{shown}");
}
