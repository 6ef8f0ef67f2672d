//! A stream of raw bytes: registered values first, then the backstop over what is left.

use super::backstop::Watch;
use super::registered::Search;

/// Redacts bytes as they come; they need not be UTF-8. Equal input gives equal output for any
/// chunking.
///
/// What may be the beginning of a secret is held back until more has come: no more than the longest
/// form of a registered value, and no more than 512 bytes of a name with its value. Dropped without
/// [`Stream::finish`], that much is lost.
pub struct Stream {
    stages: Option<(Search, Watch)>,
    between: Vec<u8>,
}

impl Stream {
    pub(super) fn new(stages: Option<(Search, Watch)>) -> Self {
        Self { stages, between: Vec::new() }
    }

    /// Takes one chunk, and appends to `out` what can be said already.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        let Some((search, watch)) = &mut self.stages else {
            out.extend_from_slice(chunk);
            return;
        };
        self.between.clear();
        search.push(chunk, &mut self.between);
        watch.push(&self.between, out);
    }

    /// Ends the stream, and appends to `out` what was held back.
    pub fn finish(self, out: &mut Vec<u8>) {
        let Some((search, mut watch)) = self.stages else { return };
        let mut rest = self.between;
        rest.clear();
        search.finish(&mut rest);
        watch.push(&rest, out);
        watch.finish(out);
    }
}

impl std::fmt::Debug for Stream {
    /// Says nothing of what is held back: it may be half a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}
