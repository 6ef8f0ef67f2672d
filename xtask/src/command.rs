//! Runs one program: as it is, for its output, or line by line.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitStatus};

use crate::error::Error;

/// Runs a program with our own streams.
///
/// # Errors
/// When it cannot be started or ends with a failure.
pub(crate) fn run(command: &mut Command) -> Result<(), Error> {
    let program = name(command);
    announce(command);
    let status =
        command.status().map_err(|source| Error::Start { program: program.clone(), source })?;
    success(program, status)
}

/// Runs a program for what it prints on standard output.
///
/// # Errors
/// When it cannot be started or ends with a failure.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Error> {
    let program = name(command);
    command.stderr(std::process::Stdio::inherit());
    let output =
        command.output().map_err(|source| Error::Start { program: program.clone(), source })?;
    success(program, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program, prints its standard output and error in the order they were written, and shows
/// each line to `seen`. Both streams share one pipe: cargo names a test binary on the one, the
/// binary counts its tests on the other.
///
/// # Errors
/// When it cannot be started, its output cannot be read, or it ends with a failure.
pub(crate) fn follow(command: &mut Command, mut seen: impl FnMut(&str)) -> Result<(), Error> {
    let program = name(command);
    announce(command);
    let start = |source| Error::Start { program: program.clone(), source };
    let read = |source| Error::Output { program: program.clone(), source };
    let (reader, writer) = std::io::pipe().map_err(start)?;
    let second = writer.try_clone().map_err(start)?;
    let mut child = command.stdout(writer).stderr(second).spawn().map_err(start)?;
    // The command keeps its ends of the pipe until they are replaced: without this, no end of file.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(read)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        println!("{text}");
        seen(text);
        line.clear();
    }
    let status = child.wait().map_err(read)?;
    success(program.clone(), status)
}

fn success(program: String, status: ExitStatus) -> Result<(), Error> {
    if status.success() { Ok(()) } else { Err(Error::Ended { program, status }) }
}

fn name(command: &Command) -> String {
    words(command).take(2).collect::<Vec<_>>().join(" ")
}

fn announce(command: &Command) {
    println!("$ {}", words(command).collect::<Vec<_>>().join(" "));
}

fn words(command: &Command) -> impl Iterator<Item = String> {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(|word| word.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_seen_in_the_order_they_were_written() {
        let mut seen = Vec::new();
        let script = "echo one; echo two >&2; echo three; printf four >&2";
        follow(&mut shell(script), |line| seen.push(line.to_owned())).unwrap();
        assert_eq!(seen, ["one", "two", "three", "four"]);
    }

    #[test]
    fn a_failing_program_is_an_error_after_its_last_line() {
        let mut seen = Vec::new();
        let ended = follow(&mut shell("echo last; exit 3"), |line| seen.push(line.to_owned()));
        assert!(matches!(ended, Err(Error::Ended { status, .. }) if status.code() == Some(3)));
        assert_eq!(seen, ["last"]);
    }

    #[test]
    fn a_missing_program_is_an_error_that_names_it() {
        let missing = run(&mut Command::new("/nowhere/at-all")).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/at-all"), "{missing}");
    }
}
