//! A model on this machine, measured.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Deserialize;
use whetstone_core::Message;
use whetstone_core::prompt::Prompt;
use whetstone_eval::{EvalError, Results, make_room};
use whetstone_infer::{Limits, Local};
use whetstone_model::Pretrained;
use whetstone_model::adapter::SETTINGS_FILE;
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_model::template::Options;
use whetstone_rollout::collect::RenderError;

use super::{Measure, Source};
use crate::device;
use crate::failure::Failure;
use crate::model::{ModelFailure, open};
use crate::quickstart::preset::EMBEDDED;
use crate::quickstart::student::unpack_into;
use crate::train::grpo;

/// The settings of an adapter are no longer.
const SETTINGS_LIMIT_BYTES: u64 = 1 << 20;

/// Where a model and its adapter are.
struct Place {
    /// The name it was given by.
    name: String,
    model: PathBuf,
    adapter: Option<PathBuf>,
}

/// Measures it; `None` if it was told to stop.
pub(super) fn measure(it: &Measure<'_>) -> Result<Option<Results>, Failure> {
    // Before anything large is loaded: the judge's processes are children of this one.
    let judge = crate::judge::start(it.config).map_err(|err| crate::judge::failure(&err))?;
    let environment = grpo::environment(judge, it.config);
    make_room(&it.args.out, it.earlier())?;
    let place = find(it)?;
    let model = open(&place.model)?;
    let max_tokens = it.max_tokens(model.config.positions);
    let room = room(&model, max_tokens)?;
    let longest = longest(it, &model)?.min(room);
    let decoder = load(it, (&place, &model), longest + max_tokens)?;
    let about = it.about_sampling((place.name.clone(), max_tokens), place.settings(it));
    let mut local = Local::new(&decoder, &model.tokenizer, Limits::default());
    let mut source = Source {
        generator: &mut local,
        render: &|messages| {
            tokens(&model, messages).map_err(|err| RenderError::from(err.to_string()))
        },
        max_tokens,
        max_prompt_tokens: longest,
    };
    it.evaluate(&about, &environment, &mut source)
}

/// The model that is meant. An adapter that training left names its base itself.
fn find(it: &Measure<'_>) -> Result<Place, Failure> {
    let given = it.args.model.as_ref().unwrap_or(&it.config.student.model_name).clone();
    let (name, adapter) = (given.clone(), it.args.adapter.clone());
    if given == EMBEDDED {
        let model = it.args.out.join("student");
        unpack_into(&model).map_err(EvalError::from)?;
        return Ok(Place { name, model, adapter });
    }
    let model = crate::hub::model(&given, it.printer)?;
    let is_adapter = model.join(SETTINGS_FILE).is_file() && !model.join("config.json").exists();
    if !is_adapter {
        return Ok(Place { name, model, adapter });
    }
    let base = base(&model.join(SETTINGS_FILE)).ok_or(Failure::Usage {
        problem: "this adapter does not say which model it belongs to",
        hint: "name the model with `--model`, and the adapter with `--adapter`",
    })?;
    Ok(Place { name, model: crate::hub::model(&base, it.printer)?, adapter: Some(model) })
}

/// The model that an adapter says it belongs to. What else is wrong with it is said when it is loaded.
fn base(settings: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Settings {
        base_model_name_or_path: Option<String>,
    }
    let mut text = Vec::new();
    File::open(settings).ok()?.take(SETTINGS_LIMIT_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice::<Settings>(&text).ok()?.base_model_name_or_path
}

impl Place {
    /// What an evaluation that goes on must find again: names, and files that nobody changed.
    fn settings(&self, it: &Measure<'_>) -> Vec<(&'static str, String)> {
        let adapter = self.adapter.as_ref();
        let mut settings = vec![
            ("--model", self.name.clone()),
            ("the model's files", stamp(&self.model)),
            ("--adapter", adapter.map_or_else(String::new, |path| path.display().to_string())),
            ("the adapter's files", adapter.map_or_else(String::new, |path| stamp(path))),
            ("--8bit", it.args.eight_bit.to_string()),
        ];
        // The CPU is not named, as in evaluations from before there was a choice.
        let device = Some(it.config.run.device.clone()).filter(|device| device != "cpu");
        settings.extend(device.map(|device| ("--device", device)));
        settings
    }
}

/// How many bytes a model has, and when they were written last.
fn stamp(path: &Path) -> String {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.chain([path.to_owned()]).filter_map(|path| fs::metadata(path).ok());
    let files: Vec<_> = files.filter(fs::Metadata::is_file).collect();
    let bytes: u64 = files.iter().map(fs::Metadata::len).sum();
    let written = files.iter().filter_map(|file| file.modified().ok()).max();
    let seconds = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{bytes} bytes of {}", seconds.map_or(0, |since| since.as_secs()))
}

/// Tokens that a prompt may have.
fn room(model: &Pretrained, max_tokens: usize) -> Result<usize, Failure> {
    match model.config.positions.saturating_sub(max_tokens) {
        0 => Err(Failure::Usage {
            problem: "completions may be as long as all that the model was made for",
            hint: "lower `--max-tokens`, so that prompts have room before them",
        }),
        room => Ok(room),
    }
}

/// Tokens of the longest prompt.
fn longest(it: &Measure<'_>, model: &Pretrained) -> Result<usize, Failure> {
    let mut longest = 1;
    for task in it.tasks {
        let prompt = Prompt::new(task.view(), it.config.prompt.language);
        longest = longest.max(tokens(model, &prompt.messages())?.len());
    }
    Ok(longest)
}

/// A conversation as the model sees it. One without a template, which was made for no chat, sees what
/// is said, paragraph by paragraph.
fn tokens(model: &Pretrained, messages: &[Message]) -> Result<Vec<u32>, ModelFailure> {
    let text = match &model.template {
        Some(template) => template.render(messages, &Options::prompt())?,
        None => messages.iter().flat_map(|it| [it.content.as_str(), "\n\n"]).collect(),
    };
    Ok(model.tokenizer.encode(&text)?)
}

fn load(
    it: &Measure<'_>,
    (place, model): (&Place, &Pretrained),
    positions: usize,
) -> Result<Decoder, ModelFailure> {
    let device = device::open(it.config, it.args.threads.map(usize::from), it.printer)?;
    let options = LoadOptions { weights: WeightFormat::frozen(it.args.eight_bit), positions };
    let mut decoder = Decoder::load(&device, (&model.config, model.weights.as_ref()), options)?;
    if let Some(dir) = &place.adapter {
        decoder.load_adapter(dir)?;
    }
    device.check()?;
    Ok(decoder)
}
