//! Who may be run again as the init, and that it is always the program that was proven.
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use crate::stage::{HOLDING, Host, KINDS, Stage, copy, everywhere};

fn refusal(stage: &Stage, program: &std::path::Path, setting: (&str, &std::path::Path)) -> String {
    let mut command = stage.command(program);
    let output =
        command.env(setting.0, setting.1).args(["none", "null", "/bin/true"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_program_without_the_entry_is_refused_and_its_main_runs_once() {
    let stage = Stage::new(0);
    let plain = stage.program(env!("CARGO_BIN_EXE_contain-plain"));
    let count = stage.path("count");
    let answer = refusal(&stage, &plain, ("CONTAIN_COUNT", &count));
    assert!(
        answer.starts_with("refused this program does not call dcli_contain::entry()"),
        "{answer}"
    );
    assert_eq!(std::fs::read_to_string(count).unwrap(), "main ran\n");
}

#[test]
fn a_named_program_without_the_entry_is_refused_without_being_run() {
    let stage = Stage::new(0);
    let host = stage.program(env!("CARGO_BIN_EXE_contain-host"));
    let plain = stage.program(env!("CARGO_BIN_EXE_contain-plain"));
    for other in [plain.as_path(), "/bin/sh".as_ref(), "/etc/passwd".as_ref()] {
        let answer = refusal(&stage, &host, ("CONTAIN_ENTRY", other));
        let expected =
            format!("refused {} does not offer the containment entry\n", other.display());
        assert_eq!(answer, expected);
    }
    let answer = refusal(&stage, &host, ("CONTAIN_ENTRY", "/nowhere".as_ref()));
    assert!(answer.starts_with("refused cannot read /nowhere: "), "{answer}");
}

#[test]
fn a_named_program_with_the_entry_serves_as_the_init() {
    everywhere(&KINDS, |stage, kind| {
        let named = stage.path("named");
        copy(env!("CARGO_BIN_EXE_contain-host"), &named);
        let mut command = stage.host_command(kind, "null", &["/bin/sh", "-c", "exit 5"]);
        command.env("CONTAIN_ENTRY", &named);
        let mut host = Host::spawn(command);
        host.start();
        assert_eq!(host.ask("wait"), "code 5", "{kind}");
    });
}

#[test]
fn an_executable_replaced_or_removed_on_disk_still_serves() {
    everywhere(&HOLDING, |stage, kind| {
        let mut host = stage.shell(kind, "exit 6");
        let path = stage.path("contain-host");
        std::fs::rename(&path, stage.path("aside")).unwrap();
        std::fs::write(&path, "#!/bin/sh\necho an upgrade\n").unwrap();
        host.start();
        assert_eq!(host.ask("wait"), "code 6", "{kind}: replaced");
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(stage.path("aside")).unwrap();
        host.start();
        assert_eq!(host.ask("wait"), "code 6", "{kind}: removed");
    });
}

#[test]
fn a_named_executable_overwritten_in_place_is_not_run() {
    everywhere(&HOLDING, |stage, kind| {
        let named = stage.path("named");
        copy(env!("CARGO_BIN_EXE_contain-host"), &named);
        let mut command = stage.host_command(kind, "null", &["/bin/true"]);
        command.env("CONTAIN_ENTRY", &named);
        let mut host = Host::spawn(command);
        std::fs::write(&named, "#!/bin/sh\necho something else\n").unwrap();
        let answer = host.ask("start");
        assert!(answer.starts_with("failed init: "), "{kind}: {answer}");
        assert!(answer.contains("overwritten"), "{kind}: {answer}");
    });
}

#[test]
fn a_role_without_a_controller_ends_at_once_and_never_reaches_main() {
    use std::os::unix::process::CommandExt;
    let stage = Stage::new(0);
    for role in ["namespace", "guardian", "bare", "nothing", "unheard-of"] {
        let mut command = stage.command(&stage.program(env!("CARGO_BIN_EXE_contain-host")));
        command.arg0("dcli-contained-init").arg(role).stdin(std::process::Stdio::null());
        let output = command.output().unwrap();
        assert_eq!(output.stdout, b"", "{role}");
        assert_eq!(
            output.status.code() == Some(0),
            role == "nothing",
            "{role}: {:?}",
            output.status
        );
    }
}
