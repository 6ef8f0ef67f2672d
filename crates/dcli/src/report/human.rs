//! Foreign text made fit for a terminal: nothing in it can move the cursor or hide itself.

use std::io::Write;

/// `text` without control characters (they become `·`), ANSI escapes, and characters that reorder
/// or hide text, on one line of at most `most` characters.
#[must_use]
pub fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (count, letter) in text.chars().enumerate() {
        let letter = match letter {
            '\n' | '\t' | '\r' => ' ',
            letter if letter.is_control() || is_invisible(letter) => '·',
            letter => letter,
        };
        if count == most {
            shown.push('…');
            break;
        }
        shown.push(letter);
    }
    shown
}

/// Says `message` on standard error. What a file of a repository or an argument holds can be in it,
/// so that no line reaches a terminal raw.
pub fn say(message: &str) {
    let lines: Vec<String> = message.lines().map(|line| printable(line, 2000)).collect();
    // Nobody can be told where standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{}", lines.join("\n"));
}

/// Bidirectional overrides and isolates, zero-width characters, tags, and line separators.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// Seconds as people read them: `8 s`, `2 min 05 s`.
#[must_use]
pub fn elapsed(duration: std::time::Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds:02} s"),
    }
}

/// Counts as people read them: `812`, `3.4k`, `1.2M`.
#[must_use]
pub fn count(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{}.{}k", number / 1000, number % 1000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// Bytes as people read them: `812 B`, `3.4 kB`, `1.2 GB`.
#[must_use]
pub fn bytes(number: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")];
    match units.iter().find(|(size, _)| number >= *size) {
        Some((size, unit)) => format!("{}.{} {unit}", number / size, number % size / (size / 10)),
        None => format!("{number} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_cannot_move_the_cursor_or_hide() {
        let hostile = "a\u{1b}[2J\u{1b}]0;title\u{7}b\u{202e}c\u{200b}\nd\u{9b}31m";
        assert_eq!(printable(hostile, 80), "a·[2J·]0;title·b·c· d·31m");
        assert_eq!(printable("abcdef", 3), "abc…");
    }
}
