//! What was configured: the user's file, the records, the project's policy, and what they choose.

use dcli_core::doctor::{BackendReport, Check, CheckStatus};
use dcli_core::executor::{Catalogue, Executor};
use dcli_core::gate::{Choice, Layer};

use super::{Examination, UnknownBackend};
use crate::config::{self, ConfigError, Policy, User};

/// The configuration as far as it can be read, with a check of each part.
pub(super) struct Settings {
    pub user: User,
    pub policy: Policy,
    catalogue: Catalogue,
    choice: Choice,
    pub checks: Vec<Check>,
}

impl Settings {
    pub(super) fn read(examination: &Examination) -> Self {
        let directory = &examination.directory;
        let project = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        let (user, policy) = (config::user(), config::policy(&project));
        let records = config::catalogue_with_refused();
        let checks = vec![
            file("configuration", "config.toml", &user),
            records_check(&records),
            file("policy", "the project's policy", &policy),
        ];
        let (user, policy) = (user.unwrap_or_default(), policy.unwrap_or_default());
        let catalogue = records.map(|(catalogue, _)| catalogue).unwrap_or_default();
        let choice = policy.choose(&user, examination.backend.as_deref());
        Self { user, policy, catalogue, choice, checks }
    }

    /// The executors to look at: the one that was asked for, or all.
    pub(super) fn executors(
        &self,
        backend: Option<&str>,
    ) -> Result<Vec<&Executor>, UnknownBackend> {
        match backend {
            Some(id) => match self.catalogue.find(id) {
                Ok(executor) => Ok(vec![executor]),
                Err(error) => Err(UnknownBackend(error.to_string())),
            },
            None => Ok(self.catalogue.iter().collect()),
        }
    }

    /// What a run gets that names no backend. A choice without a record is refused; a default
    /// that nobody chose, and that does not work here, is only in the way.
    pub(super) fn choice(&self, backends: &[BackendReport]) -> Check {
        let (id, title) = ("choice", "chosen backend");
        let Choice { executor_id, layer } = &self.choice;
        let executor = match self.catalogue.find(executor_id) {
            Ok(executor) => executor,
            Err(error) => {
                let remedy = "name one that there is; see 'dcli backends'";
                return Check::ok(id, title, error.to_string()).but(CheckStatus::Failed, remedy);
            }
        };
        let backend = &executor.record.id;
        let check = Check::ok(id, title, format!("{backend} ({layer})"));
        let unfit = backends.iter().any(|seen| seen.backend == *backend && !seen.is_usable());
        if *layer != Layer::Default || !unfit {
            return check;
        }
        let remedy = "name another with --backend, or as 'executor' in config.toml";
        check.but(CheckStatus::Warning, remedy)
    }

    /// Whether somebody chose this one, and it is not just the default.
    pub(super) fn chose(&self, executor: &Executor) -> bool {
        let (id, chosen) = (&executor.record.id, &self.choice.executor_id);
        let is_it = id == chosen || executor.record.aliases.contains(chosen);
        is_it && self.choice.layer != Layer::Default
    }
}

fn file<T>(id: &str, title: &str, read: &Result<T, ConfigError>) -> Check {
    match read {
        Ok(_) => Check::ok(id, title, "can be used"),
        Err(error) => broken(id, title, error),
    }
}

type Records = Result<(Catalogue, Vec<(std::path::PathBuf, ConfigError)>), ConfigError>;

fn records_check(records: &Records) -> Check {
    let title = "records";
    match records {
        Err(error) => broken("records", title, error),
        Ok((_, refused)) if !refused.is_empty() => {
            let errors: Vec<String> = refused.iter().map(|(_, error)| error.to_string()).collect();
            broken("records", title, &errors.join("; "))
        }
        Ok((catalogue, _)) => {
            Check::ok("records", title, format!("{} can be used", catalogue.iter().count()))
        }
    }
}

fn broken(id: &str, title: &str, error: &impl ToString) -> Check {
    let remedy = "correct or remove what is named; until then nothing is started";
    Check::ok(id, title, error.to_string()).but(CheckStatus::Failed, remedy)
}
