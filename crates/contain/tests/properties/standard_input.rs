//! The prompt as standard input: a regular file, read-only, from its beginning; never a way out.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::stage::{Host, KINDS, Stage, everywhere};

#[test]
fn an_input_file_is_read_only_and_at_its_beginning() {
    everywhere(&KINDS, |stage, kind| is_read_only_from_its_beginning(stage, kind, ""));
}

#[test]
fn a_file_that_the_caller_opened_for_writing_and_read_from_is_opened_anew() {
    everywhere(&KINDS, |stage, kind| is_read_only_from_its_beginning(stage, kind, "rw:"));
}

fn is_read_only_from_its_beginning(stage: &Stage, kind: &str, how: &str) {
    let prompt = stage.path("prompt");
    std::fs::write(&prompt, "first\nsecond\n").unwrap();
    std::fs::set_permissions(&prompt, Permissions::from_mode(0o666)).unwrap();
    let script =
        "grep -E '^(pos|flags)' /proc/$$/fdinfo/0; (echo x >&0) 2>/dev/null || echo read-only; cat";
    let target = ["/bin/sh", "-c", script];
    let input = format!("{how}{}", prompt.display());
    let mut host = Host::spawn(stage.host_command(kind, &input, &target));
    host.start();
    assert_eq!(host.ask("wait"), "code 0");
    let output = stage.output();
    let (facts, text) =
        output.split_once("read-only\n").unwrap_or_else(|| panic!("{kind}: {output}"));
    assert_eq!(text, "first\nsecond\n", "{kind}");
    let words: Vec<&str> = facts.split_whitespace().collect();
    assert_eq!(words[1], "0", "{kind}: offset");
    let flags = u32::from_str_radix(words[3], 8).unwrap();
    assert_eq!(flags & 0o7, 0, "{kind}: opened for reading only: {facts}");
    assert_eq!(flags & 0o4000, 0, "{kind}: not non-blocking: {facts}");
}

#[test]
fn an_absent_input_is_at_its_end_at_once() {
    everywhere(&KINDS, |stage, kind| {
        let mut host = stage.shell(kind, "cat; readlink /proc/$$/fd/0");
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        assert_eq!(stage.output(), "/dev/null\n", "{kind}");
    });
}

#[test]
fn an_input_that_is_no_regular_file_is_refused_before_anything_runs() {
    everywhere(&KINDS, |stage, kind| {
        let fifo = stage.path("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o666.into(), 0)
            .unwrap();
        let directory = stage.path("");
        let missing = stage.path("missing");
        for input in [&fifo, &directory, &missing] {
            let target = ["/bin/sh", "-c", "echo ran"];
            let mut host = Host::spawn(stage.host_command(kind, input.to_str().unwrap(), &target));
            let answer = host.ask("start");
            assert!(answer.starts_with("failed stdin: "), "{kind} {}: {answer}", input.display());
            assert!(answer.contains(input.to_str().unwrap()), "{kind}: names it: {answer}");
        }
        assert_eq!(stage.output(), "", "{kind}");
    });
}

#[test]
fn a_descriptor_is_passed_on_unless_it_is_a_directory_or_a_device() {
    everywhere(&KINDS, |stage, kind| {
        std::fs::write(stage.path("given"), "given\n").unwrap();
        let ask = |input: &str| {
            let input = format!("fd:{input}");
            let mut host = Host::spawn(stage.host_command(kind, &input, &["/bin/cat"]));
            let answer = host.ask("start");
            if answer.starts_with("started") { host.ask("wait") } else { answer }
        };
        assert_eq!(ask(stage.path("given").to_str().unwrap()), "code 0", "{kind}");
        assert_eq!(stage.output(), "given\n", "{kind}");
        assert_eq!(ask("/dev/null"), "code 0", "{kind}");
        assert!(ask("/tmp").starts_with("failed stdin: "), "{kind}");
        assert!(ask("/dev/zero").starts_with("failed stdin: "), "{kind}");
    });
}
