//! The model that a command is given, found by one rule for all of them.

use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_eval::EvalError;
use whetstone_recipe::find::{self, FindError};

pub(crate) use whetstone_recipe::find::last_run;

use crate::failure::Failure;
use crate::printer::Printer;

/// Places to search besides the path itself.
pub(crate) struct Around {
    /// The folder of runs.
    pub(crate) runs: PathBuf,
    /// The directory for the embedded student, if not the user's cache.
    pub(crate) unpack: Option<PathBuf>,
    /// Shows the progress of downloads.
    pub(crate) printer: Printer,
}

/// The paths of a model and its adapter.
#[derive(Debug)]
pub(crate) struct Found {
    /// The name it was given by.
    pub(crate) name: String,
    /// A directory or a .gguf file.
    pub(crate) model: PathBuf,
    /// The directory of the adapter that goes into it.
    pub(crate) adapter: Option<PathBuf>,
}

impl Around {
    /// The folder of runs that the settings name, and the user's cache.
    pub(crate) fn of(config: &Config, printer: Printer) -> Self {
        Self { runs: PathBuf::from(&config.run.dir), unpack: None, printer }
    }
}

/// Finds a model.
pub(crate) fn find(given: &str, around: &Around) -> Result<Found, Failure> {
    let hub = &|name: &str| crate::hub::model(name, around.printer);
    let around = find::Around { runs: &around.runs, unpack: around.unpack.as_deref(), hub };
    let found = find::find(given, &around).map_err(|err| match err {
        FindError::Usage { problem, hint } => Failure::Usage { problem, hint },
        FindError::Unpack(err) => EvalError::from(err).into(),
        FindError::Hub(failure) => failure,
    })?;
    let find::Found { model, adapter } = found;
    Ok(Found { name: given.to_owned(), model, adapter })
}

impl Found {
    /// The same with the given adapter.
    pub(crate) fn with_adapter(self, asked: Option<&Path>) -> Result<Self, Failure> {
        match (asked, &self.adapter) {
            (None, _) => Ok(self),
            (Some(path), None) => Ok(Self { adapter: Some(path.to_owned()), ..self }),
            (Some(_), Some(_)) => Err(Failure::Usage {
                problem: "the model is an adapter itself, so `--adapter` cannot be used",
                hint: "name the adapter's base, or leave `--adapter` out",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_adapter_is_the_most_that_a_model_has() {
        let found = |adapter: Option<&str>| Found {
            name: "m".to_owned(),
            model: PathBuf::from("m"),
            adapter: adapter.map(PathBuf::from),
        };
        let asked = Some(Path::new("b"));
        assert_eq!(found(None).with_adapter(asked).unwrap().adapter.as_deref(), asked);
        let own = found(Some("a")).with_adapter(None).unwrap();
        assert_eq!(own.adapter.as_deref(), Some(Path::new("a")));
        let twice = found(Some("a")).with_adapter(asked).unwrap_err().to_string();
        assert!(twice.contains("`--adapter` cannot be used"), "{twice}");
    }
}
