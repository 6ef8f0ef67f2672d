//! A coding agent that plays a script: `dcli-fake-agent --script FILE …`; see
//! `dcli_testkit::agent`.

fn main() -> std::process::ExitCode {
    dcli_testkit::agent::main()
}
