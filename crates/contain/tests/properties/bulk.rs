//! Large environments and argument lists pass whole; too large ones are the program's error, not ours.

use crate::stage::{Host, KINDS, everywhere};

#[test]
fn a_large_environment_and_many_arguments_arrive_whole() {
    everywhere(&KINDS, |stage, kind| {
        let many: Vec<String> = (0..5000).map(|number| format!("argument-{number:04}")).collect();
        let mut target = vec!["/bin/sh", "-c", "echo ${#BULK} $# ${5000}", "sh"];
        target.extend(many.iter().map(String::as_str));
        let mut command = stage.host_command(kind, "null", &target);
        command.env("CONTAIN_BULK", "120000");
        let mut host = Host::spawn(command);
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        assert_eq!(stage.output(), "120000 5000 argument-4999\n", "{kind}");
    });
}

#[test]
fn an_entry_over_the_kernels_bound_is_the_programs_error() {
    everywhere(&KINDS, |stage, kind| {
        let mut command = stage.host_command(kind, "null", &["/bin/sh", "-c", "echo ran"]);
        command.env("CONTAIN_BULK", "140000");
        let answer = Host::spawn(command).ask("start");
        assert!(answer.starts_with("failed program: cannot execute /bin/sh: "), "{kind}: {answer}");
        assert!(answer.contains("os error 7"), "{kind}: {answer}");
        assert_eq!(stage.output(), "", "{kind}");
    });
}
