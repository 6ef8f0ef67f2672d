//! Answers that come too late, twice, at once, from inside, or in place of which something else lies:
//! one counts, and every other one hears why it does not.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::common::asking::{Asks, allowed};
use crate::common::{Dialect, Stage, shown};

const PUSH: &[Asks] = &[Asks::Bash("git push origin main")];
/// How often two answer at the same moment.
const TRIALS: usize = 12;

fn answer_file(stage: &Stage, id: &str, name: &str) -> PathBuf {
    stage.job_dir(id).join("answers").join(name)
}

/// An answer as its file holds it.
fn written(id: &str, decision: &str) -> String {
    json!({
        "schema_version": 1, "interaction_id": id, "decision": decision, "message": null,
        "answers": [], "responder": "policy *", "at": "2026-01-02T03:04:05.678Z",
    })
    .to_string()
}

#[test]
fn of_two_answers_at_the_same_moment_one_counts_and_the_other_hears_so() {
    let mut first = [0, 0];
    for trial in 0..TRIALS {
        let stage = Stage::asking(PUSH);
        let id = stage.attended("600");
        stage.wait_open(&id, "i1");
        let words = [&["i1", "allow", "--json"][..], &["i1", "deny", "--message", "no", "--json"]];
        let running = words.map(|words| stage.dcli().args(["respond", &id]).args(words).start());
        let outcomes = running.map(crate::common::Running::finish_uncontained);
        let codes = [outcomes[0].code(), outcomes[1].code()];
        assert!(codes == [0, 15] || codes == [15, 0], "trial {trial}: {outcomes:?}");
        let winner = usize::from(codes[1] == 0);
        first[winner] += 1;
        let message = outcomes[1 - winner].json("error")["error"]["message"].to_string();
        assert!(message.contains("answered by uid"), "{message}");
        let job = stage.waited(&id);
        assert_eq!(job["interactions"][0]["decision"], ["allow", "deny"][winner], "{job:#}");
        assert_eq!(stage.path(&allowed(1)).exists(), winner == 0);
        let lines = stage.journal(&id);
        let resolved = lines.iter().filter(|line| line["type"] == "interaction_resolved");
        assert_eq!(resolved.count(), 1);
    }
    let observed = format!("{TRIALS} pairs: allow first {}, deny first {}", first[0], first[1]);
    shown("17", "scripted-two-at-once", &observed);
}

#[test]
fn an_answer_that_comes_twice_or_too_late_hears_what_it_was_before() {
    let stage = Stage::asking(&[Asks::Bash("one"), Asks::Bash("two")]);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    assert_eq!(stage.respond(&id, &["i1", "allow"]).code(), 0);
    stage.wait_open(&id, "i2");
    let (code, message) = stage.refused(&id, &["i1", "deny"]);
    assert!(code == 15 && message.contains("answered by uid") && message.contains("allow"));
    assert_eq!(stage.respond(&id, &["i2", "deny", "--message", "no"]).code(), 0);
    stage.waited(&id);
    let (code, message) = stage.refused(&id, &["i2", "allow"]);
    assert!(code == 15 && message.contains("deny"), "{message}");
}

#[test]
fn nobody_in_time_is_expired_and_the_agent_goes_on() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("0.3");
    let decided = stage.wait_decided(&id, "i1");
    assert_eq!((&decided["decision"], &decided["responder"]), (&"expired".into(), &Value::Null));
    let (code, message) = stage.refused(&id, &["i1", "allow"]);
    assert!(code == 15 && message.contains("expired"), "{message}");
    let job = stage.waited(&id);
    assert_eq!(job["state"], "done", "{job:#}");
    assert!(!stage.path(&allowed(1)).exists());
    // The door is shut on the disk too.
    let kept: Value =
        serde_json::from_slice(&std::fs::read(answer_file(&stage, &id, "i1.json")).unwrap())
            .unwrap();
    assert_eq!(kept["decision"], "expired");
}

#[test]
fn an_answer_at_the_last_moment_counts_or_is_late_and_is_told_which() {
    let mut counted = 0;
    for trial in 0..TRIALS {
        let stage = Stage::asking(PUSH);
        let id = stage.attended(&format!("0.{:02}", 2 * trial + 1));
        stage.wait_asked(&id, "i1");
        let words = ["i1", "deny", "--message", "sesame open", "--json"];
        let running = stage.dcli().args(["respond", &id]).args(words).start();
        let outcome = running.finish_uncontained();
        let job = stage.waited(&id);
        let decision = job["interactions"][0]["decision"].as_str().unwrap();
        let wanted = if decision == "deny" { 0 } else { 15 };
        assert_eq!(outcome.code(), wanted, "trial {trial}: {decision}, {outcome:?}");
        counted += usize::from(decision == "deny");
        let files = Stage::files(&stage.job_dir(&id).join("answers"));
        assert!(files.len() <= 1, "{files:?}");
    }
    shown("17", "scripted-last-moment", &format!("{counted} of {TRIALS} came in time"));
}

#[test]
fn a_job_that_nobody_attends_rejects_at_once_and_takes_no_answer() {
    let stage = Stage::asking(PUSH);
    let run = stage.workspace("run").args(["--deny", "webfetch", "--json"]).words("Do it.").run();
    let job = run.json("job");
    assert_eq!(job["state"], "done", "{job:#}");
    assert_eq!(job["interactions"][0]["outcome"], "rejected_unattended", "{job:#}");
    let (code, message) = stage.refused(job["job_id"].as_str().unwrap(), &["i1", "allow"]);
    assert!(code == 15 && message.contains("not attended"), "{message}");
    assert!(!answer_file(&stage, job["job_id"].as_str().unwrap(), "").exists());
}

#[test]
fn rules_answer_by_themselves_and_are_named() {
    let asks = [Asks::Bash("git status"), Asks::Bash("git push"), Asks::Bash("rm x")];
    let stage = Stage::asking(&asks);
    let rules =
        ["--attended", "--allow", "bash:git *", "--ask", "bash:git push*", "--deny", "bash:rm *"];
    let id = stage.submitted(stage.workspace("submit").args(rules).words("Do it."));
    stage.wait_open(&id, "i2");
    assert_eq!(stage.respond(&id, &["i2", "allow"]).code(), 0);
    let job = stage.waited(&id);
    let found = job["interactions"].as_array().unwrap();
    let found: Vec<_> = found.iter().map(|one| (&one["outcome"], &one["decision"])).collect();
    let wanted = ["pre_authorized", "awaiting_authorized_responder", "denied_by_policy"];
    let decisions = ["allow", "allow", "deny"];
    for ((outcome, decision), (wanted, decided)) in found.iter().zip(wanted.iter().zip(decisions)) {
        assert_eq!((*outcome, *decision), (&json!(wanted), &json!(decided)), "{job:#}");
    }
    assert_eq!(job["interactions"][0]["responder"], "policy bash:git *");
    let (code, message) = stage.refused(&id, &["i3", "allow"]);
    assert!(code == 15 && message.contains("policy bash:rm *"), "{message}");
}

#[test]
fn a_job_that_is_cancelled_while_it_waits_takes_no_answer() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    assert_eq!(stage.over(&["cancel", &id]).code(), 0);
    let job = stage.waited(&id);
    assert_eq!(job["state"], "cancelled", "{job:#}");
    assert_eq!(job["interactions"][0]["decision"], "expired", "{job:#}");
    let (code, message) = stage.refused(&id, &["i1", "allow"]);
    assert!(code == 15 && message.contains("cancelled"), "{message}");
    assert!(!stage.path(&allowed(1)).exists());
}

#[test]
fn a_job_whose_worker_died_while_it_waited_is_interrupted_and_takes_no_answer() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    stage.kill_worker(&id);
    let (code, message) = stage.refused(&id, &["i1", "allow"]);
    assert!(code == 15 && message.contains("interrupted"), "{message}");
    let job = stage.waited(&id);
    assert_eq!(job["state"], "interrupted", "{job:#}");
    assert_eq!(job["interactions"][0]["decision"], "expired", "{job:#}");
    let listing = stage.over(&["interactions", "--json"]).json("interactions");
    assert_eq!(listing["interactions"], json!([]));
    assert!(!answer_file(&stage, &id, "i1.json").exists());
}

#[test]
fn an_answer_that_a_stopped_worker_does_not_take_is_not_lost() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let worker = Pid::from_raw(stage.worker(&id)).unwrap();
    kill_process(worker, Signal::STOP).unwrap();
    let (code, message) = stage.refused(&id, &["i1", "allow", "--timeout-sec", "0.3"]);
    assert!(code == 4 && message.contains("not taken yet"), "{message}");
    kill_process(worker, Signal::CONT).unwrap();
    let job = stage.waited(&id);
    assert_eq!(job["interactions"][0]["decision"], "allow", "{job:#}");
    assert!(stage.path(&allowed(1)).exists());
}

#[test]
fn what_lies_in_the_place_of_an_answer_and_is_none_is_named_and_taken_away() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let log = stage.job_dir(&id).join("attempts/1/worker.log");
    let file = answer_file(&stage, &id, "i1.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let elsewhere = stage.room.file("elsewhere.json", &written("i1", "allow")).unwrap();
    type Put<'p> = Box<dyn Fn() + 'p>;
    let puts: [(&str, Put<'_>); 5] = [
        ("longer than", Box::new(|| std::fs::write(&file, vec![b' '; 2 << 20]).unwrap())),
        ("expected", Box::new(|| std::fs::write(&file, "allow").unwrap())),
        ("it answers i2", Box::new(|| std::fs::write(&file, written("i2", "allow")).unwrap())),
        ("symbolic links", Box::new(|| symlink(&elsewhere, &file).unwrap())),
        (
            "not a regular file",
            Box::new(|| {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                let fifo = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, &file, fifo, mode, 0).unwrap();
            }),
        ),
    ];
    for (reason, put) in &puts {
        put();
        let is_named = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains(reason));
        wait_until(reason, HANG_LIMIT, is_named).unwrap();
        wait_until("it is gone", HANG_LIMIT, || file.symlink_metadata().is_err()).unwrap();
    }
    assert_eq!(stage.respond(&id, &["i1", "deny", "--message", "no"]).code(), 0);
    assert_eq!(stage.waited(&id)["interactions"][0]["decision"], "deny");
    assert!(elsewhere.exists());
}

#[test]
fn an_answer_to_what_was_not_asked_yet_counts_for_nothing() {
    let stage = Stage::asking(&[Asks::Bash("one"), Asks::Bash("two")]);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let file = answer_file(&stage, &id, "i2.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, written("i2", "allow")).unwrap();
    wait_until("it is taken away", HANG_LIMIT, || !file.exists()).unwrap();
    assert_eq!(stage.respond(&id, &["i1", "allow"]).code(), 0);
    stage.wait_open(&id, "i2");
    assert_eq!(stage.respond(&id, &["i2", "deny", "--message", "no"]).code(), 0);
    stage.waited(&id);
    assert!(stage.path(&allowed(1)).exists() && !stage.path(&allowed(2)).exists());
}

#[test]
fn who_answered_is_the_owner_of_the_file_whatever_it_says() {
    let stage = Stage::asking(PUSH);
    let id = stage.attended("600");
    stage.wait_open(&id, "i1");
    let file = answer_file(&stage, &id, "i1.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let staged = stage.room.file("staged.json", &written("i1", "allow")).unwrap();
    std::fs::hard_link(staged, &file).unwrap();
    let decided = stage.wait_decided(&id, "i1");
    let uid = format!("uid {}", rustix::process::geteuid().as_raw());
    assert_eq!(decided["responder"], uid.as_str());
    stage.waited(&id);
}

#[test]
fn an_agent_does_not_answer_for_itself() {
    let stage = Stage::new([]);
    let answer = stage.room.file("answer", &Dialect::of("claude").ok("Done.").text()).unwrap();
    let request = json!({
        "type": "control_request", "request_id": "q1",
        "request": {
            "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash",
            "input": {"command": "git push"}, "tool_use_id": "t",
        },
    });
    let script = format!(
        "#!/bin/sh\n\
         case \" $* \" in *\" --version \"*) exit 0 ;; esac\n\
         read -r prompt\n\
         echo '{request}'\n\
         until {dcli} interactions \"$DCLI_JOB_ID\" | grep -q 'waits for'; do sleep 0.02; done\n\
         {dcli} respond \"$DCLI_JOB_ID\" i1 allow --json > {tmp}/inside.json 2> {tmp}/inside.err\n\
         echo $? > {tmp}/inside.code\n\
         read -r answer\n\
         echo \"$answer\" > {tmp}/told\n\
         cat {answer}\n\
         cat > /dev/null\n",
        dcli = env!("CARGO_BIN_EXE_dcli"),
        tmp = stage.room.tmp().display(),
        answer = answer.display(),
    );
    let agent = stage.room.file("agent", &script).unwrap();
    std::fs::set_permissions(&agent, Permissions::from_mode(0o755)).unwrap();
    let submit = stage.dcli().args(["submit", "--backend", "claude", "--attended", "--command"]);
    let id = stage.submitted(submit.arg(&agent).words("Do it."));
    stage.wait_file("tmp/inside.code");
    let read = |name: &str| std::fs::read_to_string(stage.room.tmp().join(name)).unwrap();
    assert_eq!(read("inside.code"), "15\n", "{}", read("inside.err"));
    assert!(read("inside.json").contains("does not answer for itself"), "{}", read("inside.json"));
    stage.wait_open(&id, "i1");
    assert_eq!(stage.respond(&id, &["i1", "deny", "--message", "outside"]).code(), 0);
    assert_eq!(stage.waited(&id)["state"], "done");
    assert!(read("told").contains("outside"));
}

#[test]
fn the_words_of_an_answer_are_redacted_once_they_were_taken() {
    let secret = "sesame-0123456789";
    let stage = Stage::asking(PUSH);
    let submit = stage.workspace("submit").args(["--attended", "--env"]);
    let id = stage.submitted(submit.arg(format!("PASS={secret}")).words("Do it."));
    stage.wait_open(&id, "i1");
    let words = format!("the password is {secret}");
    assert_eq!(stage.respond(&id, &["i1", "deny", "--message", &words]).code(), 0);
    stage.waited(&id);
    assert!(stage.seen().stdin.unwrap().contains(secret), "the agent is told");
    let files = Stage::files(&stage.room.state());
    let kept = |(path, bytes): &(PathBuf, Vec<u8>)| {
        String::from_utf8_lossy(bytes).contains(secret).then(|| path.clone())
    };
    let left: Vec<PathBuf> = files.iter().filter_map(kept).collect();
    assert_eq!(left, [] as [PathBuf; 0]);
    let kept = std::fs::read_to_string(answer_file(&stage, &id, "i1.json")).unwrap();
    assert!(kept.contains("\u{ab}redacted:PASS\u{bb}"), "{kept}");
}

#[test]
fn a_secret_that_is_a_word_of_the_record_hides_nothing_of_it() {
    for value in ["1", "i1", "allow", "question", "2026"] {
        let stage = Stage::asking(&[Asks::Questions(&["Which?"])]);
        let submit = stage.workspace("submit").args(["--attended", "--env"]);
        let id = stage.submitted(submit.arg(format!("V={value}")).words("Do it."));
        stage.wait_open(&id, "i1");
        assert_eq!(stage.respond(&id, &["i1", "answer", "red"]).code(), 0, "{value}");
        let job = stage.waited(&id);
        assert_eq!(job["interactions"][0]["decision"], "answer", "{value}: {job:#}");
    }
}
