//! A process tree that does not want to die: `dcli-hostile-tree --all --seed N --ready FILE`; see
//! `dcli_testkit::hostile`.

fn main() -> std::process::ExitCode {
    dcli_testkit::hostile::main()
}
