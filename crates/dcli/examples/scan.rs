//! Scans a recorded stream of a backend, as `dcli exec` does while it runs, and prints what came
//! of it and how long each round took: one JSON object.
//!
//! ```text
//! cargo run --release -p dcli --example scan -- codex stdout.jsonl 5
//! ```

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use dcli::model::executor::record::Record;
use dcli::model::executor::{Catalogue, Scan, Scanner};
use serde_json::json;

/// As much as `dcli exec` reads at once.
const CHUNK: usize = 256 * 1024;
const LINE_CAP: usize = 64 * 1024 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [id, path, rounds] = words.as_slice() else {
        return Err("usage: scan BACKEND FILE ROUNDS".into());
    };
    let record = Arc::clone(&Catalogue::shipped()?.find(id)?.record);
    let bytes = std::fs::read(path)?;
    let rounds: usize = rounds.parse()?;
    let mut seconds = Vec::new();
    let (mut scan, mut facts) = read(&record, &bytes);
    for _ in 0..rounds {
        let begun = Instant::now();
        (scan, facts) = read(&record, &bytes);
        seconds.push(begun.elapsed().as_secs_f64());
    }
    let found = json!({"bytes": bytes.len(), "records": scan.records, "facts": facts,
        "malformed": scan.malformed, "complete": scan.complete(), "seconds": seconds});
    writeln!(std::io::stdout(), "{found}")?;
    Ok(())
}

fn read(record: &Arc<Record>, bytes: &[u8]) -> (Scan, u64) {
    let mut scanner = Scanner::new(Arc::clone(record), LINE_CAP);
    let mut facts = 0;
    for chunk in bytes.chunks(CHUNK) {
        scanner.push(chunk, |_| facts += 1);
    }
    (scanner.finish(|_| facts += 1), facts)
}
