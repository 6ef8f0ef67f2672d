//! A shell's command line, cut into the commands that it runs, as far as that shows without running
//! it. What does not show makes it opaque: then no pattern allows it, and a pattern that denies sees
//! more of it.

/// Where a word of the shell begins a compound command, and what stands behind it is a command too.
const RESERVED: [&str; 17] = [
    "!", "{", "[[", "case", "coproc", "do", "elif", "else", "for", "function", "if", "select",
    "then", "time", "until", "while", "}",
];

/// What a command line runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Commands {
    /// Each command, and where the line is opaque whatever else could be one, the line at last.
    pub patterns: Vec<String>,
    /// True with redirections, substitutions and expansions, subshells, comments, assignments,
    /// compound commands, continued lines and quotes without an end.
    pub is_opaque: bool,
}

/// Cuts `line` at `;`, `&`, `|` and line ends that are not quoted.
pub(super) fn commands(line: &str) -> Commands {
    let mut cutter = Cutter::default();
    let mut rest = line.chars().peekable();
    while let Some(next) = rest.next() {
        cutter.take(next, &mut rest);
    }
    cutter.cut();
    let Cutter { mut pieces, mut is_opaque, quote, .. } = cutter;
    is_opaque |= quote.is_some();
    let bare: Vec<String> = pieces.iter().filter_map(|piece| bared(piece)).collect();
    is_opaque |= !bare.is_empty();
    if is_opaque {
        let parts = line.split([';', '&', '|', '\n', '(', ')', '{', '}', '`']);
        let parts: Vec<String> = parts.map(|part| part.trim().to_owned()).collect();
        let bare_parts: Vec<String> = parts.iter().filter_map(|part| bared(part)).collect();
        pieces.extend(bare.into_iter().chain(parts).chain(bare_parts));
        pieces.push(line.trim().to_owned());
    }
    let mut seen = std::collections::BTreeSet::new();
    pieces.retain(|piece| !piece.is_empty() && seen.insert(piece.clone()));
    Commands { patterns: pieces, is_opaque }
}

#[derive(Default)]
struct Cutter {
    pieces: Vec<String>,
    piece: String,
    quote: Option<char>,
    is_opaque: bool,
    /// The last character is a redirection, and no escaped or quoted sign.
    redirects: bool,
}

type Rest<'l> = std::iter::Peekable<std::str::Chars<'l>>;

impl Cutter {
    fn take(&mut self, next: char, rest: &mut Rest<'_>) {
        let redirects = std::mem::take(&mut self.redirects);
        match (self.quote, next) {
            (Some('\''), '\'') => self.quote = None,
            (Some('\''), _) => {}
            (_, '\\') => return self.escape(rest),
            (Some(_), '"') => self.quote = None,
            (None, '\'' | '"') => self.quote = Some(next),
            (_, '$' | '`') => self.is_opaque = true,
            (Some(_), _) => {}
            (None, '<' | '>') => (self.is_opaque, self.redirects) = (true, true),
            (None, '(' | ')') => self.is_opaque = true,
            (None, '#') if self.is_at_word() => return self.comment(next, rest),
            // `>&2` and `&>file` are one redirection.
            (None, '&') if redirects || rest.peek() == Some(&'>') => {}
            (None, ';' | '&' | '|' | '\n') => return self.cut(),
            (None, _) => {}
        }
        self.piece.push(next);
    }

    fn escape(&mut self, rest: &mut Rest<'_>) {
        self.piece.push('\\');
        let escaped = rest.next();
        self.is_opaque |= matches!(escaped, None | Some('\n'));
        self.piece.extend(escaped);
    }

    /// No quote begins or ends in a comment.
    fn comment(&mut self, first: char, rest: &mut Rest<'_>) {
        self.is_opaque = true;
        self.piece.push(first);
        while let Some(next) = rest.next_if(|next| *next != '\n') {
            self.piece.push(next);
        }
    }

    fn is_at_word(&self) -> bool {
        self.piece.chars().last().is_none_or(char::is_whitespace)
    }

    fn cut(&mut self) {
        let piece = std::mem::take(&mut self.piece);
        self.pieces.push(piece.trim().to_owned());
    }
}

/// A command without the reserved words and assignments before it; `None` where there are none.
fn bared(piece: &str) -> Option<String> {
    let mut rest = piece;
    while let Some(word) = rest.split_whitespace().next() {
        if !RESERVED.contains(&word) && !is_assignment(word) {
            break;
        }
        rest = rest[word.len()..].trim_start();
    }
    (rest.len() < piece.len()).then(|| rest.to_owned())
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_anything_hidden_is_cut_where_the_shell_cuts_it() {
        for (line, pieces) in [
            ("git status", &["git status"][..]),
            ("a && b || c ; d & e | f |& g\nh", &["a", "b", "c", "d", "e", "f", "g", "h"]),
            ("git commit -m 'a; b && c'", &["git commit -m 'a; b && c'"]),
            ("echo \"a | b\" ; echo a\\;b", &["echo \"a | b\"", "echo a\\;b"]),
            ("echo 'it' \"\\\"; x\" a#b", &["echo 'it' \"\\\"; x\" a#b"]),
            ("find . -exec rm {} \\;", &["find . -exec rm {} \\;"]),
            (" ; a ;; ", &["a"]),
            ("git status \\>& touch x", &["git status \\>", "touch x"]),
            ("git status '>'& touch x", &["git status '>'", "touch x"]),
        ] {
            let wanted = pieces.iter().map(ToString::to_string).collect();
            assert_eq!(commands(line), Commands { patterns: wanted, is_opaque: false }, "{line}");
        }
    }

    #[test]
    fn what_does_not_show_makes_a_line_opaque() {
        for line in [
            "git status > f",
            "git status $X",
            "git status `rm x`",
            "git status \"$(rm x)\"",
            "git status <<E\nrm\nE",
            "(git status)",
            "git() { rm x; }; git status",
            "git status 'a",
            "git status \"a",
            "git status \\\nx",
            "git status \\",
            "X=1 git status",
            "x[1]+=2 git status",
            "if git status",
            "{ git status",
            "git status # it's\nrm x # it's",
        ] {
            let found = commands(line);
            assert!(found.is_opaque, "{line}");
            assert!(found.patterns.iter().any(|pattern| pattern == line), "{found:?}");
        }
    }

    #[test]
    fn a_command_is_seen_behind_whatever_hides_it() {
        for line in [
            "X=1 rm x",
            "echo $(rm x)",
            "echo \"`rm x`\"",
            "for i in 1 2; do rm x; done",
            "! rm x",
            "{ rm x; }",
            "(cd a; Y=2 rm x)",
            "git status # it's\nrm x # it's",
            "if true; then rm x; fi",
            "cat <<E | rm x\nE",
            "rm x 2>&1",
        ] {
            let patterns = commands(line).patterns;
            let is_seen = patterns.iter().any(|pattern| pattern.starts_with("rm x"));
            assert!(is_seen, "{line}: {patterns:?}");
        }
    }

    #[test]
    fn an_opaque_line_says_nothing_twice() {
        assert_eq!(commands("echo hi > f").patterns, ["echo hi > f"]);
        assert_eq!(commands("a 2>&1; b").patterns, ["a 2>&1", "b", "a 2>", "1", "a 2>&1; b"]);
    }
}
