//! How long a look takes where a hundred thousand jobs are kept: generated ones, the newest of them
//! whole, of the others what a listing could come to read.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::{BenchError, Named as _};
use super::figure::{Figure, Target};
use super::sample::Sample;
use super::stage::{Stage, ms, timed};
use super::{jobs, overhead};

const JOBS: usize = 100_000;
/// So many are copies of a whole directory.
const WHOLE: usize = 1_000;
const REPOSITORIES: usize = 100;
const ROUNDS: usize = 30;

/// All jobs in one repository, then spread over many.
pub(super) fn measure(stage: &Stage) -> Result<Vec<Figure>, BenchError> {
    let (record, _) = jobs::short(stage)?;
    let pattern = jobs::directory(stage, &jobs::submitted(stage, &record)?)?;
    let id = pattern.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    timed(&mut stage.dcli(&["wait", &id]), "dcli wait")?;
    let repository = pattern.parent().unwrap_or(&pattern).to_owned();
    let made = (0..JOBS).map(|at| one(&repository, &pattern, &id, at));
    let made = made.collect::<std::io::Result<Vec<_>>>().named("generate jobs")?;
    let middle = made.get(JOBS / 2).map_or("", String::as_str);
    let status = looked(stage, &["status", middle], "status of one of 100000 jobs", 10.0)?;
    let list = ["list", "--limit", "20"];
    let one = looked(stage, &list, "list, newest 20 of 100000 jobs of one repository", 50.0)?;
    spread(&repository, &made).named("spread jobs over repositories")?;
    let list = ["list", "--all-repos", "--limit", "20"];
    let what = format!("list, newest 20 of 100000 jobs of {REPOSITORIES} repositories");
    let many = looked(stage, &list, &what, 50.0)?;
    Ok(vec![status, one, many])
}

fn looked(stage: &Stage, words: &[&str], what: &str, most: f64) -> Result<Figure, BenchError> {
    let mut look = stage.dcli(words);
    let mut took = Vec::new();
    for _ in 0..overhead::WARM + ROUNDS {
        took.push(ms(timed(&mut look, what)?));
    }
    let shown = if words.contains(&"status") { "status ID".to_owned() } else { words.join(" ") };
    Ok(Figure {
        what: what.to_owned(),
        command: format!("dcli {shown}"),
        unit: "ms",
        sample: Sample::of(took.split_off(overhead::WARM)),
        target: Target::AtMost(most),
    })
}

/// A job like `pattern`, under an id of its own; the last ones are whole.
fn one(repository: &Path, pattern: &Path, like: &str, at: usize) -> std::io::Result<String> {
    let id = id_of(at);
    let job = repository.join(&id);
    fs::create_dir(&job)?;
    if at + WHOLE >= JOBS {
        copy(pattern, &job, like, &id)?;
    } else {
        let status = fs::read_to_string(pattern.join("status.json"))?;
        fs::write(job.join("status.json"), status.replace(like, &id))?;
    }
    Ok(id)
}

fn copy(from: &Path, to: &Path, like: &str, id: &str) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (entry, there) = entry.map(|entry| (entry.path(), to.join(entry.file_name())))?;
        if entry.is_dir() {
            fs::create_dir(&there)?;
            copy(&entry, &there, like, id)?;
        } else {
            fs::write(there, fs::read_to_string(entry)?.replace(like, id))?;
        }
    }
    Ok(())
}

/// 300 ids a day, from the beginning of 2025 on, with months of 28 days.
fn id_of(at: usize) -> String {
    let (day, second) = (at / 300, at % 300 * 288);
    let (year, month, day) = (2025 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let scattered = at.wrapping_mul(2_654_435_761) % 0xffff_ffff;
    format!("{year}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z-{scattered:08x}")
}

/// Leaves every hundredth job where it is.
fn spread(repository: &Path, ids: &[String]) -> std::io::Result<()> {
    let jobs = repository.parent().unwrap_or(repository);
    let other = |number: usize| -> PathBuf { jobs.join(format!("{number:012x}")) };
    (1..REPOSITORIES).try_for_each(|number| fs::create_dir(other(number)))?;
    for (at, id) in ids.iter().enumerate() {
        if at % REPOSITORIES != 0 {
            fs::rename(repository.join(id), other(at % REPOSITORIES).join(id))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generated_id_is_another_and_later_ones_are_newer() {
        let ids: Vec<_> = (0..JOBS).map(id_of).collect();
        assert!(ids.is_sorted() && ids.windows(2).all(|two| two[0] != two[1]));
        assert!(ids.iter().all(|id| id.len() == 25 && id < &"20260101T000000Z".to_owned()));
    }
}
