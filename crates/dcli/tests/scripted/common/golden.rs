//! Streams that real CLIs printed, as the testkit keeps them.

use std::path::Path;

/// Standard output of a measured run.
pub(crate) fn golden(cli: &str, scenario: &str) -> String {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/golden");
    let path = kept.join(cli).join(scenario).join("stdout.jsonl");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
