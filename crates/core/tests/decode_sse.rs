//! Server-sent events, clause by clause of the standard, and indifference to chunking.

use dcli_core::decode::{SseDecoder, SseEvent};
use proptest::prelude::*;

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, cap: usize) -> (Vec<SseEvent>, u64) {
    let (mut events, mut decoder) = (Vec::new(), SseDecoder::new(cap));
    for chunk in chunks {
        decoder.push(chunk, |event| events.push(event));
    }
    (events, decoder.oversized())
}

fn events(text: &str) -> Vec<(String, String, String)> {
    let (events, _) = decode([text.as_bytes()], 1000);
    events.into_iter().map(|event| (event.event, event.data, event.id)).collect()
}

fn event(event: &str, data: &str, id: &str) -> (String, String, String) {
    (event.to_owned(), data.to_owned(), id.to_owned())
}

#[test]
fn data_lines_are_joined_and_one_blank_after_the_colon_is_dropped() {
    let seen = events("data: one\ndata:two\ndata:  three\n\n");
    assert_eq!(seen, [event("message", "one\ntwo\n three", "")]);
}

#[test]
fn the_type_lasts_for_one_event_and_the_id_for_the_stream() {
    let seen = events("event: a\nid: 7\ndata: x\n\ndata: y\n\nid\ndata: z\n\n");
    assert_eq!(seen, [event("a", "x", "7"), event("message", "y", "7"), event("message", "z", "")]);
}

#[test]
fn all_three_line_endings_end_a_line_and_a_mark_may_come_first() {
    let seen = events("\u{feff}data: a\r\rdata: b\r\n\r\ndata: c\n\n");
    let expected = ["a", "b", "c"].map(|data| event("message", data, ""));
    assert_eq!(seen, expected);
}

#[test]
fn comments_unknown_fields_and_events_without_data_are_dropped() {
    assert_eq!(events(": ping\n\nevent: x\n\nother: 1\nfoo\n\ndata: a\n\n").len(), 1);
    assert_eq!(events("data\n\n"), [event("message", "", "")]);
    assert_eq!(events("data: never closed\n"), []);
    assert_eq!(events("id: a\0b\ndata: x\n\n"), [event("message", "x", "")]);
}

#[test]
fn the_type_of_an_event_without_data_does_not_leak_into_the_next_one() {
    assert_eq!(events("event: x\n\ndata: a\n\n"), [event("message", "a", "")]);
}

#[test]
fn only_digits_set_the_reconnection_time() {
    let mut decoder = SseDecoder::default();
    let mut feed = |text: &str| {
        decoder.push(text.as_bytes(), |_| {});
        decoder.retry_ms()
    };
    assert_eq!(feed("retry: soon\n"), None);
    assert_eq!(feed("retry: 1500\n"), Some(1500));
    assert_eq!(feed("retry: -1\nretry:\nretry: 99999999999999999999999\n"), Some(1500));
}

#[test]
fn an_event_over_the_cap_is_dropped_and_counted_and_the_next_one_comes() {
    for text in ["data: 0123456789abcdef\n\ndata: ok\n\n", "data: 012\ndata: 34567\n\ndata: ok\n\n"]
    {
        for size in [1, 3, 100] {
            let (events, oversized) = decode(text.as_bytes().chunks(size), 8);
            assert_eq!((events.len(), oversized), (1, 1), "{text:?} by {size}");
            assert_eq!(events[0].data, "ok");
        }
    }
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "data", "event", "id", "retry", ":", ": ", "x", "é", "12", "\n", "\r", "\r\n", "\n\n",
            "\u{feff}", "data: 0123456789012345678901234567890\n",
        ]), 0..40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let text = pieces.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]);
        prop_assert_eq!(decode(chunks, 24), decode([text.as_bytes()], 24));
    }
}
