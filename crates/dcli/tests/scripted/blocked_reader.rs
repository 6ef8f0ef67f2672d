//! Whoever reads the output, or does not, and whatever the caller ignores: the run ends as it must.

use dcli_testkit::agent::{Repeat, Step};
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use rustix::process::Signal;

use crate::common::{Dialect, Stage};

/// Far more than a pipe holds.
const MANY: u64 = 4_000;

fn flood(last: Step) -> Stage {
    let said = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"A line of the answer, long enough to count."}}"#;
    let repeat = Repeat { line: said.to_owned(), times: MANY };
    Stage::new([Step::StdoutRepeat(repeat), last])
}

#[test]
fn a_reader_that_never_reads_does_not_keep_a_run_from_its_deadline() {
    let stage = flood(Step::Hang(true));
    let (unread, out) = std::io::pipe().unwrap();
    let exec = stage.exec("codex").args(["--events", "--hard-timeout-sec", "1"]).stdout(out);
    let running = exec.words("Do it.").start();
    running.wait_file("tmp/seen.json");
    let ended = || stage.marker.alive().iter().all(|process| process.comm != "dcli-fake-agent");
    wait_until("the agent's tree to end", HANG_LIMIT, ended).unwrap();
    // Nothing but printing is left, and a reader that goes is a quiet end.
    drop(unread);
    let outcome = running.finish();
    assert_eq!(outcome.code(), 24, "{outcome:?}");
    assert!(!outcome.stderr.contains("cannot be printed"), "{outcome:?}");
}

#[test]
fn a_hangup_that_the_caller_ignores_ends_nothing() {
    let go = "tmp/go";
    let stage = Stage::new([]);
    stage.play([Step::WaitFile(stage.path(go)), Dialect::of("codex").ok("Done.").told()]);
    let running = stage.exec("codex").under_nohup().words("Do it.").start();
    running.wait_file("tmp/seen.json");
    running.signal(Signal::HUP);
    std::fs::write(stage.path(go), "").unwrap();
    running.finish().envelope().ok("Done.");
}
