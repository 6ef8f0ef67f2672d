//! The commands about dcli itself, and words that are no command.

use std::fs::File;

use crate::common::{Outcome, Stage};
use crate::jobs_bad_input::{answering, done};

fn dcli(words: &[&str]) -> Outcome {
    Stage::new([]).dcli().args(words).run()
}

#[test]
fn a_word_that_is_no_command_is_refused_with_the_one_that_was_meant() {
    for (words, meant) in [
        (&["executors"][..], "backends"),
        (&["schemas", "--json"], "schema"),
        (&["completion", "bash"], "completions"),
        (&["Backend"], "backends"),
        (&["logs", "20261130T190400Z-abcdefgh"], "tail"),
        (&["kill"], "cancel"),
        (&["ps"], "list"),
        (&["--backend", "codex", "exce", "Do it."], "exec"),
    ] {
        let outcome = dcli(words);
        assert_eq!(outcome.code(), 2, "{outcome:?}");
        let asked = format!("did you mean '{meant}'? see 'dcli --help'\n");
        assert!(outcome.stderr.starts_with("dcli: no such command '"), "{outcome:?}");
        assert!(outcome.stderr.ends_with(&asked), "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
        match words.contains(&"--json") {
            false => assert_eq!(outcome.text(), "", "{outcome:?}"),
            true => assert_eq!(outcome.json("error")["error"]["code"], "unknown_command"),
        }
    }
    let outcome = dcli(&["frobnicate"]);
    assert_eq!(outcome.stderr, "dcli: no such command 'frobnicate'; see 'dcli --help'\n");
}

#[test]
fn a_command_line_that_cannot_be_read_is_an_error_report_where_json_was_asked_for() {
    let outcome = dcli(&["backends", "--json", "--frobnicate"]);
    let error = outcome.json("error")["error"].clone();
    assert_eq!((outcome.code(), error["exit_code"].as_u64()), (2, Some(2)), "{outcome:?}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("--frobnicate") && outcome.stderr.contains(message), "{outcome:?}");
    assert_eq!(dcli(&["backends", "--frobnicate"]).text(), "");
    // The value of an option is no command.
    let outcome = dcli(&["--backend", "exec", "backends", "--json", "--frobnicate"]);
    assert_eq!(outcome.json("error")["error"]["code"], "usage_error");
}

#[test]
fn an_unknown_schema_is_refused_with_the_nearest_name() {
    let outcome = dcli(&["schema", "envelop"]);
    assert_eq!((outcome.code(), outcome.text()), (2, ""));
    assert_eq!(
        outcome.stderr,
        "dcli: no schema 'envelop'; did you mean 'envelope'? 'dcli schema' lists them\n"
    );
}

#[test]
fn a_completion_script_completes_the_name_that_dcli_was_called_by() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = dcli(&["completions", shell]);
        assert_eq!((script.code(), script.stderr.as_str()), (0, ""), "{shell}");
        assert!(script.text().contains("prompt-file"), "{shell}: {script:?}");
    }
    let stage = Stage::new([]);
    let shim = stage.dcli().called("dcli-codex").args(["completions", "fish"]).run();
    assert!(shim.text().contains("complete -c dcli-codex"), "{shim:?}");
    assert_eq!(dcli(&["completions", "tcsh"]).code(), 2);
}

#[test]
fn every_command_has_a_manual_page() {
    let stage = Stage::new([]);
    let directory = stage.path("tmp/man");
    let written = stage.dcli().args(["man", "--dir"]).arg(&directory).run();
    let pages: Vec<_> = std::fs::read_dir(&directory).unwrap().map(Result::unwrap).collect();
    assert_eq!(written.text().lines().count(), pages.len(), "{written:?}");
    for name in ["dcli.1", "dcli-exec.1", "dcli-schema.1"] {
        let page = std::fs::read_to_string(directory.join(name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let exec = std::fs::read_to_string(directory.join("dcli-exec.1")).unwrap();
    assert_eq!(dcli(&["man", "exec"]).text(), exec);
    let unknown = dcli(&["man", "exce"]);
    assert_eq!(unknown.code(), 2);
    assert!(unknown.stderr.contains("did you mean 'exec'?"), "{unknown:?}");
    let closed = dcli(&["man", "--dir", "/proc/none"]);
    assert_eq!(closed.code(), 12, "{closed:?}");
    assert!(closed.stderr.contains("/proc/none"), "{closed:?}");
}

/// Everything here that prints at length.
const PRINTING: [&[&str]; 6] = [
    &["schema"],
    &["schema", "envelope"],
    &["completions", "bash"],
    &["man", "exec"],
    &["backends", "--json"],
    &["--help"],
];

#[test]
fn a_reader_that_has_gone_is_a_quiet_end_for_every_command() {
    for words in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = Stage::new([]).dcli().args(words).stdout(writer).run();
        assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""), "{words:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_printed_is_no_success() {
    for words in PRINTING.into_iter().filter(|words| words[0] != "--help") {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let outcome = Stage::new([]).dcli().args(words).stdout(full).run();
        assert_eq!(outcome.code(), 11, "{words:?} {outcome:?}");
        assert!(outcome.stderr.contains("cannot be printed"), "{outcome:?}");
    }
}

#[test]
fn facts_and_lines_that_cannot_be_printed_are_no_success() {
    let stage = answering();
    let id = done(&stage);
    for more in [&[][..], &["--json"], &["--raw"]] {
        let tail = || stage.dcli().args(["tail", id.as_str()]).args(more);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let outcome = tail().stdout(full).run();
        assert_eq!(outcome.code(), 11, "{more:?} {outcome:?}");
        assert!(outcome.stderr.contains("cannot be printed"), "{outcome:?}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = tail().stdout(writer).run();
        assert_eq!((outcome.code(), outcome.stderr.as_str()), (0, ""), "{more:?}");
    }
}

#[test]
fn the_newest_few_are_the_first_of_all_also_within_one_second() {
    let stage = answering();
    let mut made: Vec<String> = (0..6).map(|_| stage.submit("codex")).collect();
    made.reverse();
    let ids = |most: &str| -> Vec<String> {
        let listing = stage.over(&["list", "--json", "--limit", most]).json("jobs");
        let jobs = listing["jobs"].as_array().unwrap().iter();
        jobs.map(|job| job["job_id"].as_str().unwrap().to_owned()).collect()
    };
    for most in 0..=6 {
        assert_eq!(ids(&most.to_string()), made[..most], "{most}");
    }
    for id in made {
        stage.waited(&id);
    }
}
