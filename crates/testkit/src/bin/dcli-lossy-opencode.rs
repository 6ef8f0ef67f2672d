//! A bad line in front of an opencode server; see `dcli_testkit::opencode`.

fn main() -> std::process::ExitCode {
    dcli_testkit::opencode::lossy_main()
}
