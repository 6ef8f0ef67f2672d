//! Argument projection: record, access, model and prompt into the exact words of one command.

use thiserror::Error;

use super::record::{Delivery, PromptRule, Record};

/// The words of one command line, without the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Every argument, in order.
    pub args: Vec<String>,
    /// Whether standard input carries the prompt (else it is empty).
    pub prompt_on_stdin: bool,
}

/// What stands between the fixed arguments and the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scoped<'a> {
    /// Native arguments of the access.
    pub access: &'a [String],
    /// Native arguments of model and options.
    pub model: &'a [String],
    /// The caller's own.
    pub extra: &'a [String],
    /// Whether the backend is to keep its session, as jobs do: the record's `exec_args` are left out.
    pub keeps_session: bool,
}

/// Why a prompt cannot be handed over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PromptError {
    /// Longer than one argument may be.
    #[error(
        "the prompt has {bytes} bytes and this backend takes it as one argument of at most \
         {bound} bytes"
    )]
    TooLong {
        /// The argument's bytes.
        bytes: usize,
        /// The record's bound.
        bound: usize,
    },
    /// An argument cannot hold a NUL.
    #[error("the prompt holds a NUL byte and this backend takes it as an argument")]
    Nul,
}

/// The command line of one run.
///
/// Fixed arguments come first, scoped ones at the record's `argument_index` (at the end of the
/// fixed ones without it), and an argument-delivered prompt last, behind the record's separator.
///
/// # Errors
/// The prompt does not fit into an argument.
pub fn command_line(
    record: &Record,
    scoped: &Scoped<'_>,
    prompt: &str,
) -> Result<CommandLine, PromptError> {
    let one_shot = if scoped.keeps_session { &[][..] } else { &record.exec_args };
    let mut args: Vec<String> = record.args.iter().chain(one_shot).cloned().collect();
    let at = record.argument_index.unwrap_or(args.len()).min(args.len());
    let words = scoped.access.iter().chain(scoped.model).chain(scoped.extra).cloned();
    args.splice(at..at, words);
    let prompt_on_stdin = record.prompt.delivery == Delivery::Stdin;
    if !prompt_on_stdin {
        args.extend(prompt_words(&record.prompt, prompt)?);
    }
    Ok(CommandLine { args, prompt_on_stdin })
}

fn prompt_words(rule: &PromptRule, prompt: &str) -> Result<Vec<String>, PromptError> {
    if prompt.contains('\0') {
        return Err(PromptError::Nul);
    }
    let words = match &rule.joined_flag {
        Some(flag) => vec![format!("{flag}={prompt}")],
        None if rule.separator.is_empty() => vec![prompt.to_owned()],
        None => vec![rule.separator.clone(), prompt.to_owned()],
    };
    let bytes = words.last().map_or(0, String::len);
    if bytes > rule.argument_bound {
        return Err(PromptError::TooLong { bytes, bound: rule.argument_bound });
    }
    Ok(words)
}
