//! What somebody may have meant by a word that is no command, shape or shell.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use dcli_core::exit::FailureClass;
use dcli_core::report::ErrorReport;

use super::args::Cli;

/// Verbs of other tools for what a command here does.
const SYNONYMS: &[(&str, &str)] = &[
    ("abort", "cancel"),
    ("answer", "respond"),
    ("approve", "respond"),
    ("ask", "interactions"),
    ("attach", "tail --follow"),
    ("await", "wait"),
    ("cat", "read"),
    ("clean", "cleanup"),
    ("completion", "completions"),
    ("delete", "cleanup"),
    ("executors", "backends"),
    ("follow", "tail --follow"),
    ("gc", "cleanup"),
    ("get", "read"),
    ("health", "doctor"),
    ("info", "status"),
    ("inspect", "status"),
    ("jobs", "list"),
    ("kill", "cancel"),
    ("log", "tail"),
    ("logs", "tail"),
    ("ls", "list"),
    ("output", "read"),
    ("pending", "interactions"),
    ("prune", "cleanup"),
    ("ps", "list"),
    ("questions", "interactions"),
    ("queue", "submit"),
    ("reply", "respond"),
    ("result", "read"),
    ("rm", "cleanup"),
    ("schemas", "schema"),
    ("settings", "config"),
    ("show", "status"),
    ("start", "submit"),
    ("state", "status"),
    ("stop", "cancel"),
    ("terminate", "cancel"),
    ("watch", "tail --follow"),
];

/// The error report for a word that is no command; `None` where the error is another one.
pub(super) fn unknown_command(error: &clap::Error) -> Option<ErrorReport> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let meant = command(word).map(|verb| format!("; did you mean '{verb}'?"));
    let message = format!("no such command '{word}'{}", meant.unwrap_or_default());
    let report = ErrorReport::of_class(FailureClass::UsageError, message);
    Some(report.coded("unknown_command").hint("see 'dcli --help'"))
}

/// The command that `word` may be meant for, with an option where it takes one.
fn command(word: &str) -> Option<String> {
    let whole = Cli::command();
    let names = || whole.get_subcommands().map(clap::Command::get_name);
    let is_there = |verb: &&str| {
        let name = verb.split(' ').next().unwrap_or_default();
        names().any(|command| command == name)
    };
    let synonym = SYNONYMS.iter().find(|row| row.0 == word.to_lowercase()).map(|row| row.1);
    let meant = synonym.filter(is_there).or_else(|| nearest(word, names()));
    meant.map(str::to_owned)
}

/// The one of `names` that differs least from `word`: by at most a third of its letters.
pub(super) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_lowercase();
    let near = names.map(|name| (distance(&word, name), name));
    let (steps, name) = near.min()?;
    (steps <= word.chars().count().max(3) / 3).then_some(name)
}

/// How many letters have to be put in, taken out, replaced, or swapped with their neighbour to turn
/// one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut steps = vec![vec![0; other.len() + 1]; one.len() + 1];
    for (i, j) in (0..=one.len()).flat_map(|i| (0..=other.len()).map(move |j| (i, j))) {
        steps[i][j] = match (i, j) {
            (0, far) | (far, 0) => far,
            _ => {
                let replaced = steps[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
                let moved = steps[i - 1][j].min(steps[i][j - 1]) + 1;
                let is_swap =
                    i > 1 && j > 1 && (one[i - 1], one[i - 2]) == (other[j - 2], other[j - 1]);
                let swapped = if is_swap { steps[i - 2][j - 2] + 1 } else { usize::MAX };
                replaced.min(moved).min(swapped)
            }
        };
    }
    steps[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_is_no_command_itself_and_stands_once() {
        assert!(SYNONYMS.is_sorted_by(|one, next| one.0 < next.0));
        for command in Cli::command().get_subcommands() {
            assert!(SYNONYMS.iter().all(|row| row.0 != command.get_name()));
        }
    }

    #[test]
    fn a_synonym_leads_to_a_command() {
        let cli = Cli::command();
        let known: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
        for (word, meant) in SYNONYMS {
            let verb = meant.split(' ').next().unwrap();
            assert!(known.contains(&verb), "{word} leads to {meant}");
        }
        for wanted in [("kill", "cancel"), ("logs", "tail"), ("ps", "list")] {
            assert!(SYNONYMS.contains(&wanted));
        }
    }

    #[test]
    fn the_nearest_name_is_few_letters_away() {
        let names = || ["backends", "envelope", "error", "event"].into_iter();
        assert_eq!(nearest("envelop", names()), Some("envelope"));
        assert_eq!(nearest("Backend", names()), Some("backends"));
        assert_eq!(nearest("erorr", names()), Some("error"));
        assert_eq!(nearest("evnt", names()), Some("event"));
        assert_eq!(nearest("jobs", names()), None);
        assert_eq!(nearest("", names()), None);
    }

    #[test]
    fn the_distance_counts_letters() {
        for (one, other, steps) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("ä", "a", 1), ("exce", "exec", 1)]
        {
            assert_eq!((distance(one, other), distance(other, one)), (steps, steps));
        }
    }
}
