//! The built binary against scripted agents: every fault of the field notes, every clause for
//! every record, what must never be ok, bad input, and the command line itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what stages a run may fail its test")]

mod bad_prompt;
mod bad_request;
mod blocked_reader;
mod clause_answer;
mod clause_end;
mod clause_environment;
mod clause_orphans;
mod clause_start;
mod clause_stream;
mod clauses;
mod cli_output;
mod cli_prompt;
mod cli_terminal;
mod common;
mod config_shown;
mod deadlines;
mod field;
mod field_depth;
mod field_input;
mod field_output;
mod field_stream;
mod field_tree;
mod hostile_files;
mod jobs_answering;
mod jobs_bad_input;
mod jobs_bad_root;
mod jobs_cancel;
mod jobs_caps;
mod jobs_cut;
mod jobs_field_door;
mod jobs_field_output;
mod jobs_field_tree;
mod jobs_interactions;
mod jobs_interactions_late;
mod jobs_killed;
mod jobs_options;
mod jobs_recursion;
mod jobs_redaction;
mod jobs_schemas;
mod jobs_unmade;
mod jobs_watched;
mod listing;
mod never_ok;
mod opencode_asks;
mod opencode_faults;
mod opencode_line;
mod opencode_redaction;
mod schemas;
mod verbs;
