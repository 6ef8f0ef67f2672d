//! The ceiling on packages in Cargo.lock.

use std::path::Path;

use crate::error::Error;

/// Raised only on purpose, in the commit that adds the package, with the reason in its message.
const CEILING: usize = 104;

/// Compares the number of packages with the ceiling.
///
/// # Errors
/// When there are more, or Cargo.lock cannot be read.
pub(crate) fn check(root: &Path) -> Result<(), Error> {
    let path = root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&path).map_err(|source| Error::File {
        operation: "read",
        path,
        source,
    })?;
    let found = packages(&lock);
    println!("{found} packages in Cargo.lock, the ceiling is {CEILING}");
    within(found, CEILING)
}

fn packages(lock: &str) -> usize {
    lock.lines().filter(|line| line.trim() == "[[package]]").count()
}

fn within(found: usize, ceiling: usize) -> Result<(), Error> {
    if found <= ceiling { Ok(()) } else { Err(Error::OverCeiling { found, ceiling }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_package_over_the_ceiling_is_refused() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\n\n[[package]]\nname = \"b\"\n";
        assert_eq!(packages(lock), 2);
        assert!(within(packages(lock), 2).is_ok());
        assert!(matches!(
            within(packages(lock), 1),
            Err(Error::OverCeiling { found: 2, ceiling: 1 })
        ));
    }
}
