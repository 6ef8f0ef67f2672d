//! A mark that nobody else's environment carries.

use std::hash::{BuildHasher, Hasher, RandomState};

/// `name=` and 128 random bits.
pub(crate) fn fresh(name: &str) -> String {
    let random = || RandomState::new().build_hasher().finish();
    // Keys of one thread differ by a counter only; process and time keep two processes apart.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let salt = now.map_or(0, |now| now.as_nanos()) ^ u128::from(std::process::id());
    let bits = (u128::from(random()) << 64 | u128::from(random())) ^ salt;
    format!("{name}={bits:032x}")
}
