//! A program that uses containment but never calls the entry: it must be refused, and its main must run once.

use std::io::Write;

use dcli_contain::Entry;

fn main() -> std::io::Result<()> {
    if let Some(path) = std::env::var_os("CONTAIN_COUNT") {
        let mut count = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
        count.write_all(b"main ran\n")?;
    }
    let mut out = std::io::stdout();
    match Entry::current() {
        Ok(_) => writeln!(out, "accepted"),
        Err(error) => writeln!(out, "refused {error}"),
    }
}
