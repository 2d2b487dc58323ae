//! The model card: `README.md` in a final model, in the format of the hub of Hugging Face.
//!
//! Every figure comes from the events of the run or from a file beside the weights; what was not measured is not
//! there. A run that was killed and resumed ends with the same bytes, so there is nothing in it that depends on a clock,
//! on the run's name or on a folder of this machine. Names are shown as code, so they can be anything.
//!
//! Not here: evaluations after the training, which [`with_evaluations`] adds.

mod escape;
mod evaluation;
mod figures;
mod front;
mod settings;

use std::fmt::Write as _;
use std::path::Path;

use whetstone_core::config::{Config, Trained};
use whetstone_data::prepare::{TRAIN, VAL};
use whetstone_record::event::Event;
use whetstone_record::run_dir::RunView;
use whetstone_record::summary::Summary;

use crate::inputs::{self, Known, TRACES};
use crate::optimizer;
use crate::student::{EMBEDDED, Student};

use escape::{block, code, is_hub_name, word};

pub use evaluation::{Measured, Row, with_evaluations};
pub use front::{Front, LIMIT_BYTES, license_of, split, value};

/// The file of a model card.
pub const CARD: &str = "README.md";

/// The file that a card's settings are to be saved as.
const SETTINGS: &str = "settings.toml";

/// The licence of `whet`.
const LICENSE: &str = "mit";

/// A model and the run that trained it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) stage: &'a str,
    pub(crate) config: &'a Config,
    pub(crate) student: &'a Student,
    pub(crate) view: &'a RunView,
    /// Steps that the model was trained for.
    pub(crate) steps: u64,
}

/// The card of a final model.
pub(crate) fn text(subject: &Subject<'_>) -> String {
    let front = subject.front();
    let evaluation = evaluation::section(&[]);
    let parts = [
        subject.title(),
        subject.base(),
        subject.data(),
        subject.training(),
        subject.figures(),
        licence(front.license.as_deref()),
        evaluation,
    ];
    format!("{}\n{}", front.text(), parts.join("\n"))
}

/// The section on the licence.
pub fn licence(of_base: Option<&str>) -> String {
    let sentence = match of_base {
        Some(license) => format!(
            "The base model's card states the licence {}. Check it, and the licences of the data, before publishing.",
            code(license)
        ),
        None => "The licence of the base model is not known here. Replace `license: other` in the first lines of this \
                 file by the licence under which you publish the model; the licences of the base model and of the data \
                 may bind you."
            .to_owned(),
    };
    format!("## Licence\n\n{sentence}\n")
}

/// The last part of a path.
fn file_name(path: &str) -> String {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

impl Subject<'_> {
    fn front(&self) -> Front {
        let Self { config, student, stage, .. } = *self;
        let is_adapter = config.training.train == Trained::Lora;
        let of_base = license_of(&student.model.path);
        let mut tags = vec!["whetstone".to_owned(), stage.to_owned()];
        if is_adapter {
            tags.push("lora".to_owned());
        }
        Front {
            base_model: Some(self.base_name()).filter(|name| is_hub_name(name)),
            relation: if is_adapter { "adapter" } else { "finetune" },
            library: if is_adapter { "peft" } else { "transformers" },
            pipeline: if self.scores() { "text-classification" } else { "text-generation" },
            license: of_base.or_else(|| self.is_embedded().then(|| LICENSE.to_owned())),
            tags,
        }
    }

    /// Whether it was trained from the student that ships with `whet`, whose licence is that of `whet`.
    fn is_embedded(&self) -> bool {
        self.config.student.model_name == EMBEDDED
    }

    /// Whether it is a reward model of some kind.
    fn scores(&self) -> bool {
        self.student.facts.is_some()
    }

    /// The base's name on the hub, or the last part of its path.
    fn base_name(&self) -> String {
        let asked = &self.config.student.model_name;
        let known = self.student.base_name();
        let is_of_the_hub = |name: &str| is_hub_name(name) && !Path::new(name).exists();
        match [known, asked.as_str()].into_iter().find(|name| is_of_the_hub(name)) {
            Some(name) => name.to_owned(),
            None => file_name(asked),
        }
    }

    fn title(&self) -> String {
        let what = match (self.config.training.train, self.scores()) {
            (Trained::Lora, true) => "Reward model (LoRA adapter with a score head)",
            (Trained::Lora, false) => "LoRA adapter",
            (Trained::Full, _) => "Model",
        };
        let load = match (self.config.training.train, self.scores()) {
            (Trained::Lora, true) => {
                "PEFT loads this directory as an adapter for sequence classification; `whet model score DIR` scores with it."
            }
            (Trained::Lora, false) if self.student.model.path.is_file() => {
                "PEFT cannot load this directory, because the base is a GGUF file: `whet export DIR --base-model NAME --out NEW` writes the adapter for a base that PEFT can load. `whet generate DIR 'PROMPT' --chat` tries it, and `whet export DIR --out NEW` merges it into its base model."
            }
            (Trained::Lora, false) => {
                "PEFT loads this directory (`AutoPeftModelForCausalLM`); `whet generate DIR 'PROMPT' --chat` tries it, and `whet export DIR --out NEW` merges it into its base model."
            }
            (Trained::Full, _) => {
                "transformers loads this directory (`AutoModelForCausalLM`); `whet generate DIR 'PROMPT' --chat` tries it."
            }
        };
        format!(
            "# {what} on {}\n\nTrained with the stage {} of `whet` (Whetstone) {}.\n\n{load}\n",
            code(&self.base_name()),
            code(self.stage),
            env!("CARGO_PKG_VERSION")
        )
    }

    fn base(&self) -> String {
        let name = code(&self.base_name());
        let embedded = if self.is_embedded() { ", the student that ships with `whet`" } else { "" };
        let mut text =
            format!("## Base model\n\n{name}{embedded}. Its files, with their blake3:\n\n");
        for (file, digest) in base_files(&self.student.model.path) {
            let _ = writeln!(
                text,
                "- {}: {}",
                code(&file),
                digest.map_or("could not be read".to_owned(), |digest| code(&digest))
            );
        }
        text
    }

    fn known(&self) -> Option<Known> {
        inputs::known(self.view).ok().flatten()
    }

    fn data(&self) -> String {
        let Some(known) = self.known() else { return self.generated_data() };
        let mut text = "## Data\n\nFiles, with their blake3:\n\n".to_owned();
        for input in known.listed() {
            let path = file_name(&input.path.display().to_string());
            let _ = writeln!(text, "- {}: {}, {}", input.what, code(&path), code(input.blake3));
        }
        text
    }

    /// The data of a run without a record of its inputs: a quickstart generates its files.
    fn generated_data(&self) -> String {
        let files = [("tasks", TRAIN), ("held-out tasks", VAL), ("traces of a teacher", TRACES)];
        let digest = |name| inputs::digest(&self.view.dir().join(name)).ok();
        let listed = files.into_iter().filter_map(|(what, name)| {
            Some(format!("- {what}: {}, {}\n", code(name), code(&digest(name)?)))
        });
        let listed: String = listed.collect();
        if listed.is_empty() || !self.is_quickstart() {
            return "## Data\n\nThe run has no record of its input files.\n".to_owned();
        }
        format!(
            "## Data\n\nThe command below generates these files in its run's folder; their blake3:\n\n{listed}"
        )
    }

    fn training(&self) -> String {
        let settings = settings::changed(self.config);
        let mut text = format!(
            "## Training\n\nSeed {}, `whet` {}. ",
            self.config.seed,
            env!("CARGO_PKG_VERSION")
        );
        if settings.is_empty() {
            text += "All settings are the defaults.\n";
        } else {
            let _ = write!(
                text,
                "Settings that differ from the defaults:\n\n{}",
                block("toml", &settings)
            );
        }
        if let Some(command) = self.command(&settings) {
            let _ = write!(
                text,
                "\nWith these lines as `{SETTINGS}`, with paths of your own for its models, the same training is\n\n{}",
                block("sh", &[command])
            );
        }
        text
    }

    fn is_quickstart(&self) -> bool {
        started_with(self.view).is_some_and(|command| command == "quickstart")
    }

    /// The command that repeats the training; `None` if the run does not tell.
    fn command(&self, settings: &[String]) -> Option<String> {
        let mut words = vec!["whet".to_owned()];
        let known = self.known();
        match &known {
            Some(_) => words.extend(["train".to_owned(), self.stage.to_owned()]),
            None if self.is_quickstart() => words.push("quickstart".to_owned()),
            None => return None,
        }
        words.extend(["--run".to_owned(), "NAME".to_owned()]);
        if !settings.is_empty() {
            words.extend(["--config".to_owned(), SETTINGS.to_owned()]);
        }
        for input in known.iter().flat_map(Known::listed) {
            let Some(flag) = input.flag else { continue };
            let path = if flag == "from" {
                "DIR".to_owned()
            } else {
                word(&file_name(&input.path.display().to_string()))
            };
            words.extend([format!("--{flag}"), path]);
        }
        Some(words.join(" "))
    }

    fn figures(&self) -> String {
        let heading = "## Figures of the training\n\n";
        let Ok(summary) = Summary::read(self.view) else {
            return format!("{heading}The events of the run could not be read.\n");
        };
        let facts = self.student.facts.as_ref().map(|facts| facts.text.as_slice());
        let lines = figures::lines(&summary, facts).into_iter().map(|line| format!("- {line}\n"));
        let before = self.steps.saturating_sub(summary.steps);
        let earlier = if before > 0 {
            format!(
                "The training began with a checkpoint of another run, after step {before}, which `--from` names. The \
                 figures are of the {} steps since.\n\n",
                summary.steps
            )
        } else {
            String::new()
        };
        format!("{heading}{earlier}{}", lines.collect::<String>())
    }
}

/// The command that a run was started with, e.g. `train`.
fn started_with(view: &RunView) -> Option<String> {
    let (_, first) = view.events().ok()?.next()?.ok()?;
    let Event::RunStarted { command, .. } = first.event else { return None };
    command.split(' ').nth(1).map(str::to_owned)
}

/// The files of a base model by name, each with its blake3 if it can be read.
fn base_files(model: &Path) -> Vec<(String, Option<String>)> {
    let mut files = Vec::new();
    if model.is_dir() {
        let entries = std::fs::read_dir(model).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_part = |name: &String| {
            let is_weights = name.ends_with(".safetensors") && name != optimizer::FILE;
            is_weights || ["config.json", "tokenizer.json"].contains(&name.as_str())
        };
        files.extend(names.filter(is_part).map(|name| (model.join(&name), name)));
    } else {
        files.push((model.to_owned(), file_name(&model.display().to_string())));
    }
    files.sort();
    files.into_iter().map(|(path, name)| (name, inputs::digest(&path).ok())).collect()
}

#[cfg(test)]
mod tests;
