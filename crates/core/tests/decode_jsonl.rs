//! JSONL: each line is named for what it is, whatever came before it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dcli_core::decode::{DEFAULT_LINE_CAP, JsonlDecoder, Malformed, Path, Projection, Record};
use proptest::prelude::*;
use serde_json::json;

type Seen = (Vec<u8>, Record);

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, cap: usize) -> (Vec<Seen>, Option<Seen>) {
    let wanted: Vec<Path> = ["type", "n"].iter().map(|text| text.parse().unwrap()).collect();
    let mut decoder = JsonlDecoder::new(Projection::new(&wanted), cap);
    let mut seen = Vec::new();
    for chunk in chunks {
        decoder.push(chunk, |line| seen.push((line.raw.to_vec(), line.record)));
    }
    (seen, decoder.finish().map(|tail| (tail.raw, tail.record)))
}

fn records(text: &[u8]) -> Vec<Record> {
    read([text], DEFAULT_LINE_CAP).0.into_iter().map(|(_, record)| record).collect()
}

#[test]
fn every_kind_of_line_is_told_apart_and_none_ends_the_stream() {
    let mut text =
        b"\xEF\xBB\xBF{\"type\":\"a\",\"noise\":[1]}\r\n \t\n\nnot json\n\xff\xfe\n".to_vec();
    text.extend_from_slice(b"[1]\n7\n\x1b[31m{}\n{} {}\n{\"n\":1}\n");
    let expected = [
        Record::Object(json!({"type": "a"})),
        Record::Blank,
        Record::Blank,
        Record::Malformed(Malformed::NotJson),
        Record::Malformed(Malformed::NotUtf8),
        Record::NotObject,
        Record::NotObject,
        Record::Malformed(Malformed::NotJson),
        Record::Malformed(Malformed::NotJson),
        Record::Object(json!({"n": 1})),
    ];
    assert_eq!(records(&text), expected);
}

#[test]
fn bytes_that_are_not_utf8_are_found_also_in_a_part_that_nobody_wants() {
    let text = b"{\"noise\":\"\xE9t\xE9\",\"type\":\"a\"}\n";
    assert_eq!(records(text), [Record::Malformed(Malformed::NotUtf8)]);
}

#[test]
fn a_character_split_between_two_reads_is_whole() {
    let text = "{\"type\":\"é\u{1f600}\"}\n".as_bytes();
    let (seen, tail) = read(text.chunks(1), DEFAULT_LINE_CAP);
    assert_eq!(seen[0].1, Record::Object(json!({"type": "é\u{1f600}"})));
    assert_eq!(tail, None);
}

#[test]
fn the_tail_says_whether_it_is_a_whole_object_by_itself() {
    let tail = |text: &[u8]| read([text], 20).1.map(|(_, record)| record);
    assert_eq!(tail(b"{}\n"), None);
    assert_eq!(tail(b"{}\n{\"n\":1}"), Some(Record::Object(json!({"n": 1}))));
    assert_eq!(tail(b"{}\n{\"n\":1"), Some(Record::Malformed(Malformed::NotJson)));
    assert_eq!(tail(b"{}\n{\"n\":\"\xC3"), Some(Record::Malformed(Malformed::NotUtf8)));
    assert_eq!(tail(b"{}\n \r"), Some(Record::Blank));
    assert_eq!(tail(&[b'x'; 21]), Some(Record::Oversized { bytes: 21 }));
}

#[test]
fn an_oversized_line_is_never_parsed_and_the_next_one_is() {
    let text = format!("{{\"n\":\"{}\"}}\n{{\"n\":2}}\n", "x".repeat(100));
    let (seen, _) = read(text.as_bytes().chunks(9), 20);
    assert_eq!(seen[0], (Vec::new(), Record::Oversized { bytes: 108 }));
    assert_eq!(seen[1].1, Record::Object(json!({"n": 2})));
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_records(
        pieces in prop::collection::vec(prop::sample::select(vec![
            b"{\"type\":\"\xC3\xA9\"}".to_vec(), b"{\"n\":[1,{}]}".to_vec(), b"\n".to_vec(),
            b"\r\n".to_vec(), b"\xEF\xBB\xBF".to_vec(), b"\xFF".to_vec(), b"[]".to_vec(),
            b"{\"n\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}".to_vec(), b" ".to_vec(),
        ]), 0..20),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let text = pieces.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        prop_assert_eq!(read(chunks, 30), read([text.as_slice()], 30));
    }
}
