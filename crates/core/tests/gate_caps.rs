//! The caps: one law for each, also under real threads, and a charge that is never too low.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod gate_bench;

use std::sync::{Arc, Barrier, Mutex};

use dcli_core::gate::{
    AllowAll, AroundFault, Call, CapKind, Caps, Cost, Event, Exceeded, GuardFault, Ledger,
    LedgerError, MemoryLedger, Passed, Policy, Proceed, Refusal, Verdict,
};

use gate_bench::{Bench, Job, bench, cost, of};

fn exceeded(answer: Result<Passed<Option<f64>>, Refusal>) -> Exceeded {
    match answer {
        Err(Refusal::CapExceeded(exceeded)) => exceeded,
        other => panic!("not refused by a cap: {other:?}"),
    }
}

#[test]
fn an_absent_cap_is_no_limit() {
    let bench = bench(Caps::UNLIMITED, AllowAll);
    for _ in 0..50 {
        assert_eq!(bench.run(of(1e9, Some(2e9))).unwrap().settled, Ok(cost(2e9)));
    }
    assert_eq!((bench.runs(), bench.ledger.spent()), (50, cost(1e11)));
}

#[test]
fn max_invocations_admits_exactly_that_many_and_starts_no_more() {
    for limit in [0.0, 1.0, 3.0] {
        let caps = Caps::UNLIMITED.with_max_invocations(limit).unwrap();
        let bench = bench(caps, AllowAll);
        let answers: Vec<_> = (0..5).map(|_| bench.run(Job::default()).is_ok()).collect();
        let expected: Vec<_> = (0..5).map(|run| f64::from(run) < limit).collect();
        assert_eq!(answers, expected);
        assert_eq!(bench.runs() as f64, limit);
        let refused = exceeded(bench.run(Job::default()));
        assert_eq!(refused, Exceeded { cap: CapKind::Invocations, limit, used: limit, rule: None });
    }
}

#[test]
fn max_total_cost_refuses_an_estimate_that_does_not_fit_before_anything_starts() {
    let bench = bench(Caps::UNLIMITED.with_max_total_cost(100.0).unwrap(), AllowAll);
    let refused = exceeded(bench.run(of(101.0, None)));
    assert_eq!(refused, Exceeded { cap: CapKind::TotalCost, limit: 100.0, used: 0.0, rule: None });
    bench.assert_untouched();
    assert_eq!(bench.events().pop(), Some(Event::CapExceeded { exceeded: refused.clone() }));
    assert!(bench.run(of(100.0, None)).is_ok());
    assert_eq!(exceeded(bench.run(of(0.0, None))).used, 100.0);
    assert_eq!(bench.runs(), 1);
}

#[test]
fn overspending_keeps_its_own_result_and_refuses_the_next_admission() {
    let bench = bench(Caps::UNLIMITED.with_max_total_cost(100.0).unwrap(), AllowAll);
    let passed = bench.run(of(10.0, Some(500.0))).unwrap();
    assert_eq!(passed, Passed { result: Some(500.0), settled: Ok(cost(500.0)) });
    assert_eq!(exceeded(bench.run(of(0.0, None))).used, 500.0);
    assert_eq!(bench.runs(), 1);
}

#[test]
fn the_charge_is_never_below_the_estimate_and_an_unknown_actual_charges_the_estimate() {
    let bench = bench(Caps::UNLIMITED, AllowAll);
    for (job, charge) in [(of(10.0, Some(3.0)), 10.0), (of(10.0, Some(30.0)), 30.0)] {
        assert_eq!(bench.run(job).unwrap().settled, Ok(cost(charge)));
    }
    assert_eq!(bench.run(of(7.0, None)).unwrap().settled, Ok(cost(7.0)));
    assert_eq!(bench.ledger.spent(), cost(47.0));
}

#[test]
fn numbers_that_are_no_limits_are_refused_at_construction_and_in_files() {
    let none = Caps::UNLIMITED;
    for bad in [f64::NAN, -1.0, -f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(none.with_max_invocations(bad).is_err(), "{bad}");
        assert!(none.with_max_total_cost(bad).is_err(), "{bad}");
        assert!(none.with_max_concurrent(bad).is_err(), "{bad}");
        assert!(Cost::new(bad).is_err(), "{bad}");
    }
    assert!(none.with_max_invocations(1.5).is_err() && none.with_max_concurrent(1e300).is_err());
    assert!(none.with_max_total_cost(1.5).is_ok());
    for key in ["max_invocations", "max_total_cost", "max_concurrent"] {
        for bad in ["nan", "inf", "-inf", "-1", "\"1\""] {
            let text = format!("{key} = {bad}");
            let error = toml::from_str::<Caps>(&text).unwrap_err().to_string();
            assert!(error.contains(key), "{error}");
        }
    }
    assert!(toml::from_str::<Caps>("max_cost = 1").is_err());
    let caps: Caps = toml::from_str("max_invocations = 3\nmax_total_cost = 1e6").unwrap();
    let stored = serde_json::to_string(&caps).unwrap();
    assert_eq!(serde_json::from_str::<Caps>(&stored).unwrap(), caps);
    assert_eq!(caps.max_concurrent(), None);
}

/// Waits inside `around` until every run that was admitted has come.
struct Meeting(Barrier);

impl Policy<Job, Option<f64>> for Meeting {
    fn guard(&self, _: &Call<'_, Job>) -> Result<Verdict, GuardFault> {
        Ok(Verdict::Allow)
    }

    fn around(
        &self,
        _: &Call<'_, Job>,
        way: &mut dyn Proceed<Option<f64>>,
    ) -> Result<Option<f64>, AroundFault> {
        self.0.wait();
        way.proceed()
    }
}

/// Starts `threads` runs at once; `admitted` of them meet inside, so the others must be refused.
fn race(caps: Caps, threads: usize, admitted: usize) -> (Bench, Vec<Refusal>) {
    // Refused runs come to the meeting too, so that nobody leaves before all were judged.
    let meeting = Arc::new(Meeting(Barrier::new(threads)));
    struct Shared(Arc<Meeting>);
    impl Policy<Job, Option<f64>> for Shared {
        fn guard(&self, call: &Call<'_, Job>) -> Result<Verdict, GuardFault> {
            self.0.guard(call)
        }
        fn around(
            &self,
            call: &Call<'_, Job>,
            way: &mut dyn Proceed<Option<f64>>,
        ) -> Result<Option<f64>, AroundFault> {
            self.0.around(call, way)
        }
    }
    let bench = bench(caps, Shared(meeting.clone()));
    let refused = Mutex::new(Vec::new());
    let attempt = || {
        if let Err(refusal) = bench.run(of(10.0, None)) {
            refused.lock().unwrap().push(refusal);
            meeting.0.wait();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(attempt);
        }
    });
    assert_eq!(bench.runs(), admitted);
    assert_eq!(bench.ledger.concurrent(), 0);
    (bench, refused.into_inner().unwrap())
}

#[test]
fn max_concurrent_holds_under_real_threads_and_frees_its_places() {
    let caps = Caps::UNLIMITED.with_max_concurrent(3.0).unwrap();
    let (bench, refused) = race(caps, 12, 3);
    let full = Exceeded { cap: CapKind::Concurrent, limit: 3.0, used: 3.0, rule: None };
    assert_eq!(refused, vec![Refusal::CapExceeded(full); 9]);
    assert_eq!(bench.ledger.invocations(), 3);
    let admitted =
        (0..3).map(|_| bench.ledger.admit(&caps, Cost::ZERO).unwrap()).collect::<Vec<_>>();
    assert!(bench.ledger.admit(&caps, Cost::ZERO).is_err());
    bench.ledger.settle(admitted[1], Cost::ZERO).unwrap();
    assert!(bench.ledger.admit(&caps, Cost::ZERO).is_ok());
}

#[test]
fn estimates_of_runs_under_way_are_reserved_also_under_real_threads() {
    let (bench, refused) = race(Caps::UNLIMITED.with_max_total_cost(45.0).unwrap(), 12, 4);
    let full = Exceeded { cap: CapKind::TotalCost, limit: 45.0, used: 40.0, rule: None };
    assert_eq!(refused, vec![Refusal::CapExceeded(full); 8]);
    assert_eq!(bench.ledger.spent(), cost(40.0));
}

#[test]
fn max_invocations_is_never_passed_by_a_race() {
    let (bench, refused) = race(Caps::UNLIMITED.with_max_invocations(5.0).unwrap(), 16, 5);
    assert_eq!((bench.ledger.invocations(), refused.len()), (5, 11));
}

#[test]
fn a_ticket_settles_once() {
    let ledger = MemoryLedger::new();
    let ticket = ledger.admit(&Caps::UNLIMITED, cost(1.0)).unwrap();
    assert_eq!(ledger.settle(ticket, cost(1.0)), Ok(()));
    assert_eq!(ledger.settle(ticket, cost(1.0)), Err(LedgerError::NotOpen { ticket }));
    assert_eq!(ledger.spent(), cost(1.0));
}

#[test]
fn a_sum_beyond_all_numbers_still_refuses() {
    let ledger = MemoryLedger::new();
    let caps = Caps::UNLIMITED.with_max_total_cost(f64::MAX).unwrap();
    for _ in 0..2 {
        let ticket = ledger.admit(&Caps::UNLIMITED, cost(f64::MAX)).unwrap();
        ledger.settle(ticket, cost(f64::MAX)).unwrap();
    }
    assert!(ledger.admit(&caps, Cost::ZERO).is_err());
    assert!(ledger.spent().tokens().is_finite());
}
