//! Every file of every corpus through its decoder, in several chunkings: equal answers, no panic.
//!
//! An input that a fuzzer finds becomes one more file here and is replayed by every later run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Debug;
use std::sync::Arc;

use dcli_core::decode::{
    JsonlDecoder, Line, LineDecoder, Path, Projection, Record, SseDecoder, Unterminated,
};
use dcli_core::envelope::Status;
use dcli_core::executor::{Catalogue, Record as ExecutorRecord, Scanner};
use dcli_core::outcome::{Ending, Surroundings, conclude};
use dcli_core::redact::Redactor;

const CAP: usize = 64;

#[expect(clippy::disallowed_methods, reason = "a test reads its corpus; core itself does not")]
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/tests/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(&folder).unwrap();
    let files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect();
    assert!(files.len() >= 3, "{folder} has lost its files");
    files
}

fn agree<T: PartialEq + Debug>(name: &str, decode: impl Fn(&mut dyn Iterator<Item = &[u8]>) -> T) {
    for (file, bytes) in corpus(name) {
        let whole = decode(&mut std::iter::once(bytes.as_slice()));
        for size in [1, 2, 3, 5, 64, 1021] {
            assert_eq!(decode(&mut bytes.chunks(size)), whole, "{file} in chunks of {size}");
        }
        for at in 0..bytes.len().min(300) {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(decode(&mut [head, tail].into_iter()), whole, "{file} cut at {at}");
        }
    }
}

#[test]
fn the_lines_corpus_agrees_in_every_chunking() {
    agree("lines", |chunks| {
        let (mut seen, mut decoder) = (Vec::new(), LineDecoder::new(CAP));
        for chunk in chunks {
            decoder.push(chunk, |line| {
                seen.push(match line {
                    Line::Whole(content) => Unterminated::Bytes(content.to_vec()),
                    Line::Oversized { bytes } => Unterminated::Oversized { bytes },
                });
            });
        }
        (seen, decoder.finish())
    });
}

#[test]
fn the_jsonl_corpus_agrees_in_every_chunking() {
    let wanted: Vec<Path> =
        ["type.type", "type", "result", "n.*.a", "n.1"].map(|text| text.parse().unwrap()).into();
    for projection in [Projection::new(&wanted), Projection::new(&wanted[..1]), Projection::whole()]
    {
        agree("jsonl", |chunks| {
            let mut decoder = JsonlDecoder::new(projection.clone(), 16 * 1024);
            let mut seen: Vec<(Vec<u8>, Record)> = Vec::new();
            for chunk in chunks {
                decoder.push(chunk, |line| seen.push((line.raw.to_vec(), line.record)));
            }
            (seen, decoder.finish())
        });
    }
}

#[test]
fn the_sse_corpus_agrees_in_every_chunking() {
    agree("sse", |chunks| {
        let (mut events, mut decoder) = (Vec::new(), SseDecoder::new(CAP));
        for chunk in chunks {
            decoder.push(chunk, |event| events.push(event));
        }
        (events, decoder.retry_ms(), decoder.oversized())
    });
}

#[test]
fn a_path_of_the_corpus_is_refused_or_prints_as_itself() {
    for (file, bytes) in corpus("path") {
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        if let Ok(path) = text.parse::<Path>() {
            assert_eq!(path.to_string().parse::<Path>().unwrap(), path, "{file}");
        }
    }
}

#[test]
fn the_scan_corpus_agrees_in_every_chunking_and_is_never_ok_without_proof() {
    for executor in Catalogue::shipped().unwrap().iter() {
        agree("scan", |chunks| {
            let (mut facts, record) = (Vec::new(), Arc::clone(&executor.record));
            let mut scanner = Scanner::new(record, 1 << 20);
            for chunk in chunks {
                scanner.push(chunk, |fact| facts.push(fact));
            }
            let scan = scanner.finish(|fact| facts.push(fact));
            let verdict = conclude(&Ending::Exited(0), &scan, &Surroundings::default());
            let proven = scan.terminal && scan.answer().is_some() && scan.failure.is_none();
            assert!(proven || verdict.status != Status::Ok);
            (facts, format!("{scan:?}"))
        });
    }
}

#[test]
fn the_redact_corpus_agrees_in_every_chunking_and_keeps_no_value() {
    let values = ["hunter22", "p\"a/ß", "clef", "aaaa", "00e9"];
    let redactor = Redactor::new(values.map(|value| ("N".to_string(), value.to_string())));
    agree("redact", |chunks| {
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        for chunk in chunks {
            stream.push(chunk, &mut out);
        }
        stream.finish(&mut out);
        let text = String::from_utf8_lossy(&out).into_owned();
        assert!(text.contains("«redacted:") && !values.iter().any(|value| text.contains(value)));
        out
    });
}

#[test]
fn the_record_corpus_is_read_or_refused_and_never_half_accepted() {
    let mut accepted = 0;
    for (file, bytes) in corpus("record") {
        if let Ok(record) = ExecutorRecord::from_toml(&String::from_utf8_lossy(&bytes), &file) {
            assert!(record.problems().is_empty(), "{file}");
            accepted += 1;
        }
    }
    assert!(accepted > 0, "a corpus that nothing accepts tests only the refusals");
}
