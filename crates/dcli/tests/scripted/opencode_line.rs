//! A bad line between a job and its server: whatever is lost, late, cut or doubled on it, a job comes
//! to a true end and leaves nothing behind.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use dcli_testkit::opencode::{Script, Step, Tool};
use serde_json::Value;

use crate::common::served::{PROMPT, Served, ending};
use crate::common::shown;

const SEEDS: u64 = 200;
/// Jobs at once.
const HANDS: usize = 8;
/// What a line can do to a job: nothing, a prompt of which nobody knows whether it arrived, or a
/// session that could not be made.
const ENDINGS: [&str; 4] = [
    "done null 0",
    "failed backend_execution_failed 10",
    "failed environment 12",
    "timed_out timeout 24",
];

/// The file shows whether the turn ran: a job that is done has it.
fn script() -> Script {
    let tool = Tool::bash("touch made").writing("made", "");
    Script::of([Step::Tools(vec![tool]), Step::Text("the answer".into())])
}

fn run(seed: u64) -> String {
    let served = Served::behind_a_bad_line(&script(), seed, 4 + seed % 27);
    let options = ["--allow", "bash", "--hard-timeout-sec", "40"];
    let (job, outcome) = served.ran(options);
    let end = ending(&job);
    assert!(ENDINGS.contains(&end.as_str()), "seed {seed}: {end}\n{outcome:?}");
    assert!(served.calls(PROMPT) <= 1, "seed {seed}: prompted more than once");
    let is_made = served.stage.room.work().join("made").exists();
    assert!(is_made || job["state"] != "done", "seed {seed}: done without its effect");
    assert!(job["state"] != "done" || is_whole(&job), "seed {seed}: {job:#}");
    // A turn that ran to its end was seen: what failed is a prompt that never arrived.
    assert!(job["state"] != "failed" || is_unprompted(&served, &job), "seed {seed}: {job:#}");
    end
}

fn is_whole(job: &Value) -> bool {
    job["result_bytes"] == "the answer".len() && job["tokens"]["total"] == 2 * 26
}

/// The prompt did not reach the server, nothing was done, and the record says so.
fn is_unprompted(served: &Served, job: &Value) -> bool {
    let reason = job["failure"]["message"].as_str().unwrap();
    served.calls(PROMPT) == 0
        && !served.stage.room.work().join("made").exists()
        && (job["command_exit_code"] == 12 || reason.contains("was not sent again"))
}

type Endings = Mutex<BTreeMap<String, u64>>;

/// One seed after another, as long as there are any.
fn work(next: &AtomicU64, endings: &Endings) {
    let mut seeds = std::iter::repeat_with(|| next.fetch_add(1, Ordering::SeqCst));
    while let Some(seed) = seeds.next().filter(|seed| *seed < SEEDS) {
        let end = run(seed);
        *endings.lock().unwrap().entry(end).or_default() += 1;
    }
}

#[test]
fn two_hundred_jobs_over_bad_lines_come_to_true_ends() {
    let (next, endings) = (AtomicU64::new(0), Endings::default());
    std::thread::scope(|scope| {
        for _ in 0..HANDS {
            scope.spawn(|| work(&next, &endings));
        }
    });
    let endings = endings.into_inner().unwrap();
    assert_eq!(endings.values().sum::<u64>(), SEEDS);
    assert!(endings["done null 0"] > SEEDS / 2, "{endings:?}");
    shown("20", "scripted-line", &format!("{SEEDS} seeds: {endings:?}"));
}
