//! Model lookup: one rule for every command that takes a model.
//!
//! A model is named by `embedded`, a directory, a .gguf file, a directory with one .gguf file in it, an
//! adapter that names its base, a run (its directory, or its name in the folder of runs) or a
//! repository of the hub. A path that exists comes before all that is found by name.

use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use whetstone_core::config::Config;
use whetstone_eval::EvalError;
use whetstone_kernels::Device;
use whetstone_model::Pretrained;
use whetstone_model::adapter::SETTINGS_FILE;
use whetstone_model::decoder::{Decoder, LoadOptions};
use whetstone_record::run_dir::{RunDir, RunView};
use whetstone_remote::hub::{Watch, fetch_model, is_name};
use whetstone_train::student::{BASE_FILE, EMBEDDED};

use crate::downloads::on_download;
use crate::failure::Failure;
use crate::model_failure::ModelFailure;
use crate::observer::Observer;
use crate::retries;
use crate::student::unpack_into;

/// Upper limit for an adapter's settings.
const SETTINGS_LIMIT_BYTES: u64 = 1 << 20;

/// The path of training's result in the directory of a run.
const FINAL_MODEL: &str = "outputs/final_model";

/// The paths of a model and its adapter.
#[derive(Debug)]
pub struct Found {
    /// The name it was given by.
    pub name: String,
    /// A directory or a .gguf file.
    pub model: PathBuf,
    /// The directory of the adapter that goes into it.
    pub adapter: Option<PathBuf>,
}

/// Where to look beside the path itself.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The folder of runs.
    pub runs: &'a Path,
    /// The directory for the embedded student, if not the user's cache.
    pub unpack: Option<&'a Path>,
    /// Shows the progress of downloads.
    pub observer: &'a dyn Observer,
}

impl<'a> Around<'a> {
    /// The folder of runs that the settings name, and the user's cache.
    pub fn of(config: &'a Config, observer: &'a dyn Observer) -> Self {
        Self { runs: Path::new(&config.run.dir), unpack: None, observer }
    }
}

impl Found {
    /// The same with the given adapter.
    ///
    /// # Errors
    ///
    /// If the model is an adapter already.
    pub fn with_adapter(self, asked: Option<&Path>) -> Result<Self, Failure> {
        match (asked, &self.adapter) {
            (None, _) => Ok(self),
            (Some(path), None) => Ok(Self { adapter: Some(path.to_owned()), ..self }),
            (Some(_), Some(_)) => Err(Failure::Usage {
                problem: "the model is an adapter itself, so `--adapter` cannot be used",
                hint: "name the adapter's base, or leave `--adapter` out",
            }),
        }
    }

    /// Opens the model: its configuration, tokenizer and weights.
    ///
    /// # Errors
    ///
    /// If the model does not exist, or its files are not those of a model.
    pub fn open(&self) -> Result<Pretrained, ModelFailure> {
        open(&self.model)
    }

    /// The model, its weights on a device, with its adapter.
    ///
    /// # Errors
    ///
    /// If files cannot be read, or the device fails.
    pub fn load(
        &self,
        model: &Pretrained,
        device: &Device,
        options: LoadOptions,
    ) -> Result<Decoder, ModelFailure> {
        let mut decoder = Decoder::load(device, &model.config, model.weights.as_ref(), options)?;
        if let Some(dir) = &self.adapter {
            decoder.load_adapter(dir)?;
        }
        device.check()?;
        Ok(decoder)
    }
}

/// Opens a model on this machine.
///
/// # Errors
///
/// If the model does not exist, or its files are not those of a model.
pub fn open(path: &Path) -> Result<Pretrained, ModelFailure> {
    if !path.exists() {
        return Err(ModelFailure::NotHere { path: path.to_owned() });
    }
    Ok(whetstone_model::open(path)?)
}

/// The folder in which the name of a run is looked for.
const RUNS: &str = "runs";

/// The run at a path, or the one of that name in `runs`.
///
/// # Errors
///
/// If there is no such run.
pub fn open_run(run: &Path) -> Result<RunView, Failure> {
    let is_name = run.components().count() == 1 && !run.is_dir();
    let path = if is_name { Path::new(RUNS).join(run) } else { run.to_owned() };
    // `.` and `runs/..` have a name too, which only the file system knows.
    let path = if path.file_name().is_some() {
        path
    } else {
        fs::canonicalize(&path)
            .map_err(|source| Failure::io(format!("cannot find `{}`", path.display()), source))?
    };
    let root =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(RunDir::open_read_only(root, &name)?)
}

/// The run that made a final model last, by its name.
pub fn last_run(runs: &Path) -> Option<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let made = entries.filter_map(|entry| {
        let path = entry.path();
        let when = fs::metadata(path.join(FINAL_MODEL)).ok()?.modified().ok()?;
        let is_run = path.join("events.jsonl").is_file();
        is_run.then(|| (when, entry.file_name().into_string().ok()))
    });
    made.filter_map(|(when, name)| Some((when, name?))).max().map(|(_, name)| name)
}

/// Finds a model.
///
/// # Errors
///
/// If what is named cannot be used, unpacked or fetched.
pub fn find(given: &str, around: &Around<'_>) -> Result<Found, Failure> {
    let found = |model, adapter| Found { name: given.to_owned(), model, adapter };
    if given == EMBEDDED {
        return Ok(found(unpack(around)?, None));
    }
    let path = place(given, around)?;
    if !is_adapter(&path) {
        return Ok(found(one_gguf(path)?, None));
    }
    let base =
        local_base(&path).or_else(|| base(&path.join(SETTINGS_FILE))).ok_or(Failure::Usage {
            problem: "this adapter does not say which model it belongs to",
            hint: "name the model with `--model`, and the adapter with `--adapter`",
        })?;
    // The base path is relative to the working directory of training; next to the adapter is the
    // second place to look.
    let beside = path.join(&base);
    let model = match base.as_str() {
        EMBEDDED => unpack(around)?,
        _ if !Path::new(&base).exists() && beside.exists() => beside,
        _ => place(&base, around)?,
    };
    if is_adapter(&model) {
        return Err(Failure::Usage {
            problem: "the base model of this adapter is another adapter",
            hint: "`whet export` merges a LoRA adapter into its base model; name that model with `--model`",
        });
    }
    Ok(found(one_gguf(model)?, Some(path)))
}

/// The path of a model: the given path, the result of a run, or a download from the hub.
fn place(given: &str, around: &Around<'_>) -> Result<PathBuf, Failure> {
    let path = Path::new(given);
    let named = around.runs.join(given);
    let is_run = |dir: &Path| dir.join("events.jsonl").is_file();
    let run = if is_run(path) {
        path
    } else if !path.exists() && path.components().count() == 1 && is_run(&named) {
        &named
    } else {
        return hub_model(given, around.observer);
    };
    let made = run.join(FINAL_MODEL);
    if made.is_dir() {
        return Ok(made);
    }
    Err(Failure::Usage {
        problem: "this run has no model yet",
        hint: "let it finish (`--resume` resumes it), or name one of its checkpoints",
    })
}

/// The path of a model: the given path, or the directory of a download from the hub.
fn hub_model(given: &str, observer: &dyn Observer) -> Result<PathBuf, Failure> {
    let path = Path::new(given);
    if path.exists() || !is_name(path) {
        return Ok(path.to_owned());
    }
    let watch = Watch { on_download: &on_download(observer), on_retry: retries::each(observer) };
    fetch_model(given, &watch)
        .map_err(|source| Failure::HubModel { name: given.to_owned(), source: Box::new(source) })
}

fn is_adapter(path: &Path) -> bool {
    path.join(SETTINGS_FILE).is_file() && !path.join("config.json").exists()
}

/// The .gguf file of a directory that is not a model otherwise.
fn one_gguf(path: PathBuf) -> Result<PathBuf, Failure> {
    if !path.is_dir() || path.join("config.json").exists() {
        return Ok(path);
    }
    let entries = fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "gguf")).collect();
    match (files.pop(), files.is_empty()) {
        (Some(file), true) => Ok(file),
        (Some(_), false) => Err(Failure::Usage {
            problem: "this directory has several .gguf files",
            hint: "name one of them",
        }),
        // A missing file is reported when it is opened.
        (None, _) => Ok(path),
    }
}

/// The local path of an adapter's base model, if it is recorded separately and still exists.
fn local_base(adapter: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Base {
        path: String,
    }
    let mut text = Vec::new();
    let file = File::open(adapter.join(BASE_FILE)).ok()?;
    file.take(SETTINGS_LIMIT_BYTES).read_to_end(&mut text).ok()?;
    let path = serde_json::from_slice::<Base>(&text).ok()?.path;
    Path::new(&path).exists().then_some(path)
}

/// The base model of an adapter. Other problems are reported when it is loaded.
fn base(settings: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Settings {
        base_model_name_or_path: Option<String>,
    }
    let mut text = Vec::new();
    File::open(settings).ok()?.take(SETTINGS_LIMIT_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice::<Settings>(&text).ok()?.base_model_name_or_path
}

fn unpack(around: &Around<'_>) -> Result<PathBuf, Failure> {
    let dir = around.unpack.map(Path::to_owned).or_else(cache).ok_or(Failure::Usage {
        problem: "there is no folder for the embedded student: neither XDG_CACHE_HOME nor HOME is set",
        hint: "set one of them",
    })?;
    unpack_into(&dir).map_err(EvalError::from)?;
    Ok(dir)
}

/// The embedded student's folder in the user's cache, of this version's own.
fn cache() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("whetstone").join(concat!("student-", env!("CARGO_PKG_VERSION"))))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::observer::Silent;

    fn look(given: &str, runs: &Path) -> Result<Found, Failure> {
        find(given, &Around { runs, unpack: None, observer: &Silent })
    }

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

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_run_stands_for_what_it_made() {
        let dir = tempfile::tempdir().unwrap();
        let (runs, run) = (dir.path().join("runs"), dir.path().join("runs/first"));
        write(&run.join("events.jsonl"), "");
        let unfinished = look("first", &runs).unwrap_err().to_string();
        assert_eq!(unfinished, "this run has no model yet");
        write(&run.join("outputs/final_model/config.json"), "{}");
        for given in ["first", run.to_str().unwrap()] {
            let found = look(given, &runs).unwrap();
            assert_eq!((found.model, found.adapter), (run.join(FINAL_MODEL), None), "{given}");
        }
    }

    #[test]
    fn the_last_run_is_the_one_that_made_a_model_last() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(last_run(&dir.path().join("none")), None);
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for (name, seconds) in [("b", 20), ("c", 30), ("a", 10)] {
            write(&dir.path().join(name).join("events.jsonl"), "");
            let model = dir.path().join(name).join(FINAL_MODEL);
            write(&model.join("config.json"), "{}");
            File::open(&model).unwrap().set_modified(at(seconds)).unwrap();
        }
        write(&dir.path().join("unfinished/events.jsonl"), "");
        write(&dir.path().join("no-run/outputs/final_model/config.json"), "{}");
        assert_eq!(last_run(dir.path()).as_deref(), Some("c"));
    }

    #[test]
    fn an_adapter_names_its_base() {
        let dir = tempfile::tempdir().unwrap();
        let (adapter, model) = (dir.path().join("adapter"), dir.path().join("of-this-test"));
        write(&model.join("config.json"), "{}");
        let settings = |base: &str| format!(r#"{{"base_model_name_or_path":"{base}"}}"#);
        for base in [model.to_str().unwrap(), "../of-this-test"] {
            write(&adapter.join(SETTINGS_FILE), &settings(base));
            let found = look(adapter.to_str().unwrap(), dir.path()).unwrap();
            assert_eq!(found.adapter.as_deref(), Some(adapter.as_path()));
            assert!(found.model.join("config.json").is_file(), "{}", found.model.display());
        }
        write(&adapter.join(SETTINGS_FILE), &settings("embedded"));
        let unpacked = dir.path().join("unpacked");
        let around = Around { runs: dir.path(), unpack: Some(&unpacked), observer: &Silent };
        let found = find(adapter.to_str().unwrap(), &around).unwrap();
        assert_eq!((found.model, found.adapter), (unpacked, Some(adapter.clone())));
        write(&adapter.join(SETTINGS_FILE), &settings(adapter.to_str().unwrap()));
        let circle = look(adapter.to_str().unwrap(), dir.path()).unwrap_err().to_string();
        assert!(circle.contains("is another adapter"), "{circle}");
        write(&adapter.join(SETTINGS_FILE), "{}");
        let silent = look(adapter.to_str().unwrap(), dir.path()).unwrap_err().to_string();
        assert!(silent.contains("does not say which model"), "{silent}");
    }

    #[test]
    fn a_folder_with_one_gguf_file_is_that_file() {
        let dir = tempfile::tempdir().unwrap();
        let given = dir.path().to_str().unwrap();
        write(&dir.path().join("a.gguf"), "");
        assert_eq!(look(given, dir.path()).unwrap().model, dir.path().join("a.gguf"));
        write(&dir.path().join("b.gguf"), "");
        assert!(look(given, dir.path()).unwrap_err().to_string().contains("several .gguf"));
    }
}
