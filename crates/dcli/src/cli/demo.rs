//! stub
pub(super) fn agent_role() -> Option<std::process::ExitCode> { None }
pub(super) fn run(_: &super::args::Demo) -> u8 { 1 }
