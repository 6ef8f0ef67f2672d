//! The real coding CLIs, at their pinned versions, through the built `dcli exec` against the model
//! server: as root and as an ordinary user. What was seen is kept as evidence, one row a cell.

mod access;
mod answers;
mod background;
mod case;
mod claude_control;
mod containment;
mod failures;
mod interactions;
mod jobs;
mod opencode_asks;
mod opencode_crowd;
mod opencode_killed;
mod opencode_line;
mod opencode_secret;
mod opencode_server;
mod pool;
mod said;
mod scene;
mod second_figure;
