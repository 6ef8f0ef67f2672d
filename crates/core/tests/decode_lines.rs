//! The line splitter: endings, the byte order mark, the cap, and indifference to chunking.

use dcli_core::decode::{Line, LineDecoder, Unterminated};
use proptest::prelude::*;

#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Line(Vec<u8>),
    Oversized(u64),
    Tail(Unterminated),
}

fn split<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, cap: usize) -> Vec<Seen> {
    let (mut seen, mut decoder) = (Vec::new(), LineDecoder::new(cap));
    for chunk in chunks {
        decoder.push(chunk, |line| {
            seen.push(match line {
                Line::Whole(content) => Seen::Line(content.to_vec()),
                Line::Oversized { bytes } => Seen::Oversized(bytes),
            });
        });
    }
    seen.extend(decoder.finish().map(Seen::Tail));
    seen
}

/// The same by another way: over the whole text at once.
fn oracle(text: &[u8], cap: usize) -> Vec<Seen> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut pieces: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let tail = pieces.pop().unwrap_or_default();
    let judge = |piece: &[u8]| {
        let content = piece.strip_suffix(b"\r").unwrap_or(piece);
        if content.len() > cap {
            Seen::Oversized(content.len() as u64)
        } else {
            Seen::Line(content.to_vec())
        }
    };
    let mut seen: Vec<Seen> = pieces.into_iter().map(judge).collect();
    if tail.len() > cap {
        seen.push(Seen::Tail(Unterminated::Oversized { bytes: tail.len() as u64 }));
    } else if !tail.is_empty() {
        seen.push(Seen::Tail(Unterminated::Bytes(tail.to_vec())));
    }
    seen
}

fn line(content: &str) -> Seen {
    Seen::Line(content.as_bytes().to_vec())
}

#[test]
fn lf_and_crlf_end_a_line_and_a_lone_cr_does_not() {
    let seen = split([b"a\r\nb\nc\rd\n\r\n\n".as_slice()], 100);
    assert_eq!(seen, [line("a"), line("b"), line("c\rd"), line(""), line("")]);
}

#[test]
fn one_mark_is_dropped_at_the_very_start_and_nowhere_else() {
    let text = "\u{feff}\u{feff}a\n\u{feff}b\n";
    assert_eq!(split([text.as_bytes()], 100), [line("\u{feff}a"), line("\u{feff}b")]);
}

#[test]
fn a_mark_cut_by_every_chunk_border_is_still_dropped() {
    let text = "\u{feff}a\n".as_bytes();
    assert_eq!(split(text.chunks(1), 100), [line("a")]);
}

#[test]
fn an_unterminated_last_line_is_reported_apart() {
    let tail = Seen::Tail(Unterminated::Bytes(b"b\r".to_vec()));
    assert_eq!(split([b"a\nb\r".as_slice()], 100), [line("a"), tail]);
    assert_eq!(split([b"a\n".as_slice()], 100), [line("a")]);
    assert_eq!(split(["\u{feff}".as_bytes()], 100), []);
}

#[test]
fn a_line_of_exactly_the_cap_is_whole_and_one_more_byte_is_not() {
    let text = "\u{feff}abcd\r\nabcd\nabcde\nab\n";
    for size in 1..text.len() {
        let seen = split(text.as_bytes().chunks(size), 4);
        assert_eq!(seen, [line("abcd"), line("abcd"), Seen::Oversized(5), line("ab")]);
    }
}

#[test]
fn an_oversized_line_is_reported_once_and_the_next_one_is_in_step() {
    let mut text = vec![b'x'; 100_000];
    text.extend_from_slice(b"\r\nnext\n");
    for size in [1, 7, 4096, 200_000] {
        let seen = split(text.chunks(size), 10);
        assert_eq!(seen, [Seen::Oversized(100_000), line("next")]);
    }
}

#[test]
fn an_oversized_tail_gives_its_size() {
    let seen = split([b"0123456789ABCDEF".as_slice(); 3], 10);
    assert_eq!(seen, [Seen::Tail(Unterminated::Oversized { bytes: 48 })]);
}

#[test]
fn a_line_within_its_chunk_is_not_copied() {
    let chunk = b"half\nwhole line\n".as_slice();
    let mut borrowed = 0;
    LineDecoder::default().push(chunk, |line| {
        let Line::Whole(content) = line else { panic!("oversized") };
        borrowed += usize::from(chunk.as_ptr_range().contains(&content.as_ptr()));
    });
    assert_eq!(borrowed, 2);
}

#[test]
fn a_twenty_megabyte_line_in_small_chunks_comes_out_whole() {
    let mut text = vec![b'y'; 20 * 1024 * 1024];
    text.push(b'\n');
    let seen = split(text.chunks(64 * 1024), 64 * 1024 * 1024);
    let [Seen::Line(content)] = seen.as_slice() else { panic!("not one line") };
    assert_eq!(content.len(), 20 * 1024 * 1024);
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
        Just(b"{\"a\":1}".to_vec()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_lines(
        text in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        cap in 0usize..20,
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        prop_assert_eq!(split(chunks, cap), oracle(&text, cap));
    }
}
