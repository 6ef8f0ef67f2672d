//! Developer commands of the workspace: `cargo xtask check` is everything that CI runs, `cargo xtask
//! bench` measures. Nothing here is part of the product.

#![expect(clippy::print_stdout, reason = "a developer command talks to its terminal")]

mod bench;
mod check;
mod checkout;
mod command;
mod demo;
mod deny;
mod error;
mod evidence;
mod matrix;
mod npm;
mod packages;
mod reach;
mod suite;
mod tally;
mod toolchain;
mod verdict;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask check [--quick]   everything that CI runs; --quick leaves out what is slow
       cargo xtask bench [--strict]  measures, and writes the results into docs/; --strict fails
                                     where a target is missed
       cargo xtask evidence FILE     judges the rows that an earlier run left in FILE";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => check::run(check::Extent::Full),
        ["check", "--quick"] => check::run(check::Extent::Quick),
        ["evidence", file] => check::evidence(Path::new(file)),
        ["bench"] => bench::run(bench::Judgement::Lenient),
        ["bench", "--strict"] => bench::run(bench::Judgement::Strict),
        _ => {
            println!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
