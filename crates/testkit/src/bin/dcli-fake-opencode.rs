//! A stand-in for `opencode serve` that plays a script; see `dcli_testkit::opencode`.

fn main() -> std::process::ExitCode {
    dcli_testkit::opencode::main()
}
