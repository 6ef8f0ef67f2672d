//! How fast the redaction of a stream is: `cargo run --release -p dcli-core --example redact FILE…`
//!
//! Each file is repeated to 256 MiB and pushed in chunks of 64 KiB through a redactor with 32
//! registered values. Megabytes are 10^6 bytes.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program of its own that measures the core from outside"
)]

use std::error::Error;
use std::time::Instant;

use dcli_core::redact::Redactor;

const BYTES: usize = 256 << 20;
const CHUNK: usize = 64 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let value =
        |at: u32| (format!("VALUE_{at}"), format!("{:x}/{at}", at.wrapping_mul(0x9E37_79B1)));
    let redactor = Redactor::new((1..=32).map(value));
    for file in std::env::args().skip(1) {
        let text = std::fs::read(&file)?;
        if text.is_empty() {
            continue;
        }
        let text = text.repeat((4 * CHUNK).div_ceil(text.len()));
        let (mut stream, mut out, mut done, mut kept) = (redactor.stream(), Vec::new(), 0, 0);
        let start = Instant::now();
        while done < BYTES {
            for chunk in text.chunks(CHUNK) {
                out.clear();
                stream.push(chunk, &mut out);
                done += chunk.len();
                kept += out.len();
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{file}: {:.0} MB/s, {done} bytes to {kept}", done as f64 / 1e6 / seconds);
    }
    Ok(())
}
