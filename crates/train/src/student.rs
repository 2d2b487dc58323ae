//! The student: a model with what is trained of it.

// size: opening, saving and the memory of each training share fields that are private to it.

use std::fs;
use std::path::Path;

use serde_json::json;
use whetstone_core::Message;
use whetstone_core::config::{Config, Critic, Module, PromptConfig, Trained};
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::seed::Seed;
use whetstone_infer::Limits;
use whetstone_kernels::Device;
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::{AdapterId, Decoder, Keep, LoadOptions, WeightFormat};
use whetstone_model::memory::{self, CUDA_OVERHEAD_BYTES, Plan, Purpose, Target, Work};
use whetstone_model::prompting::{PROMPT_FILE, recording};
use whetstone_model::safetensors::Safetensors;
use whetstone_model::template::Options;
use whetstone_model::weights::{Dtype, WeightsError};
use whetstone_model::{ExportOptions, Pretrained, open};
use whetstone_record::atomic;
use whetstone_record::error::FileError;
use whetstone_rollout::collect::RenderError;

use crate::error::{CheckpointError, TrainError};
use crate::grpo::budget;
use crate::reward_model::kind::ScorerKind;

/// The value of `student.model_name` that stands for the student that ships with `whet`.
pub const EMBEDDED: &str = "embedded";

/// The file beside an adapter that says where its base is on this machine, where `adapter_config.json`
/// names it for other tools.
pub const BASE_FILE: &str = "base_model.json";

/// A model with what is trained of it.
#[derive(Debug)]
pub struct Student {
    /// The pretrained model it was opened from.
    pub model: Pretrained,
    /// Its numbers.
    pub decoder: Decoder,
    /// Whether its prompts end inside the thinking tag, so that completions begin with thinking.
    pub thinking_opened: bool,
    /// The prompt that it is trained with.
    prompt: PromptConfig,
    /// Strings that end its completions.
    stop: Vec<String>,
    /// The adapter's settings, if an adapter is what is trained.
    adapter: Option<AdapterSettings>,
    /// What stands beside a reward model, once it is measured.
    pub(crate) facts: Option<FactsFile>,
    /// Other adapters on its base that checkpoints have beside it.
    pub(crate) companions: Vec<Companion>,
    /// Bytes of a teacher of distillation on its device.
    teacher_bytes: u64,
}

/// An adapter beside the one that is trained, and its folder in a checkpoint.
#[derive(Debug)]
pub(crate) struct Companion {
    pub(crate) folder: &'static str,
    pub(crate) adapter: AdapterId,
    pub(crate) settings: AdapterSettings,
    /// What stands beside it, if it is a reward model.
    pub(crate) facts: Option<FactsFile>,
}

/// The file beside the adapter of a reward model.
#[derive(Debug, Clone)]
pub(crate) struct FactsFile {
    pub(crate) kind: ScorerKind,
    pub(crate) text: Vec<u8>,
}

impl Student {
    /// Opens a model and gives it an adapter, or makes every weight trained. With a checkpoint, what
    /// is trained is read from there.
    ///
    /// # Errors
    ///
    /// If the model or the checkpoint cannot be read, or the settings do not fit the model.
    pub fn open(
        path: &Path,
        device: &Device,
        config: &Config,
        checkpoint: Option<&Path>,
    ) -> Result<Self, TrainError> {
        let mut model = open(path).map_err(TrainError::Open)?;
        model.use_prompt(&config.prompt)?;
        let prompt = config.prompt.clone();
        let stop = PromptTemplate::of(&prompt)?.stop().to_vec();
        let template = model.template.as_ref().ok_or(TrainError::NoTemplate)?;
        let thinking_opened = template.opens_thinking();
        let (asked, made_for) = (config.training.max_length as usize, model.config.positions);
        if asked > made_for {
            return Err(TrainError::Context { asked, made_for });
        }
        let weights = match config.training.train {
            Trained::Lora => WeightFormat::frozen(config.student.load_in_8bit),
            Trained::Full => WeightFormat::Trainable,
        };
        let options = LoadOptions { weights, positions: asked };
        match config.training.train {
            Trained::Lora => {
                let weights = model.weights.as_ref();
                let mut decoder = Decoder::load(device, &model.config, weights, options)
                    .map_err(TrainError::Weights)?;
                let settings = adapter(&mut decoder, config, checkpoint)?;
                let base =
                    Some(base_name(path, &config.student.model_name, model.origin.as_deref()));
                let adapter = Some(AdapterSettings { base, ..settings });
                device.check()?;
                Ok(Self {
                    model,
                    decoder,
                    thinking_opened,
                    prompt,
                    stop,
                    adapter,
                    facts: None,
                    companions: Vec::new(),
                    teacher_bytes: 0,
                })
            }
            Trained::Full => {
                let mut decoder = match checkpoint {
                    Some(dir) => saved(device, &model, options, dir)
                        .map_err(|err| TrainError::damaged(dir, CheckpointError::Weights(err)))?,
                    None => Decoder::load(device, &model.config, model.weights.as_ref(), options)
                        .map_err(TrainError::Weights)?,
                };
                decoder.train_base(true);
                device.check()?;
                Ok(Self {
                    model,
                    decoder,
                    thinking_opened,
                    prompt,
                    stop,
                    adapter: None,
                    facts: None,
                    companions: Vec::new(),
                    teacher_bytes: 0,
                })
            }
        }
    }

    /// Whether an adapter is trained, without which the student is the reference.
    pub(crate) fn has_adapter(&self) -> bool {
        self.adapter.is_some()
    }

    /// The reference model, loaded again, where the student without its adapter is not it.
    pub(crate) fn reference_model(&self) -> Result<Option<Decoder>, TrainError> {
        if self.adapter.is_some() {
            return Ok(None);
        }
        let options =
            LoadOptions { weights: WeightFormat::Frozen, positions: self.decoder.positions() };
        let Pretrained { config, weights, .. } = &self.model;
        let decoder = Decoder::load(self.decoder.device(), config, weights.as_ref(), options);
        decoder.map(Some).map_err(TrainError::Weights)
    }

    /// Strings that end its completions.
    pub fn stop(&self) -> &[String] {
        &self.stop
    }

    /// A conversation as the tokens after which the student speaks.
    pub fn prompt(&self, messages: &[Message]) -> Result<Vec<u32>, TrainError> {
        let template = self.model.template.as_ref().ok_or(TrainError::NoTemplate)?;
        let text = template.render(messages, &Options::prompt())?;
        Ok(self.model.tokenizer.encode(&text)?)
    }

    /// [`Self::prompt`] with the error type that collecting rollouts needs.
    ///
    /// # Errors
    ///
    /// If there is no template, or it refuses the conversation.
    pub fn render(&self, messages: &[Message]) -> Result<Vec<u32>, RenderError> {
        self.prompt(messages).map_err(|err| err.to_string().into())
    }

    /// Writes what is trained into a new directory, without losing a bit: an adapter as PEFT has it,
    /// or the whole model.
    pub(crate) fn save(&self, to: &Path) -> Result<(), TrainError> {
        if let Some(settings) = &self.adapter {
            self.decoder.export_adapter(settings, to, Dtype::F32)?;
            // Its name for others is not where it is on this machine.
            let path = self.model.path.display().to_string();
            if settings.base.as_ref() != Some(&path) && self.model.origin.is_some() {
                let text = format!("{}\n", json!({ "path": path }));
                let file = to.join(BASE_FILE);
                fs::write(&file, text).map_err(FileError::at("write", &file))?;
            }
        } else {
            let options = ExportOptions { dtype: Dtype::F32, ..ExportOptions::default() };
            self.decoder.export_merged(&self.model, to, options)?;
        }
        if !self.prompt.is_auto() {
            let file = to.join(PROMPT_FILE);
            fs::write(&file, recording(&self.prompt)).map_err(FileError::at("write", &file))?;
        }
        if let Some(facts) = &self.facts {
            let file = to.join(facts.kind.file());
            fs::write(&file, &facts.text).map_err(FileError::at("write", &file))?;
        }
        for Companion { folder, adapter, settings, facts } in &self.companions {
            let to = to.join(folder);
            self.decoder.export_adapter_of(*adapter, settings, &to, Dtype::F32)?;
            if let Some(facts) = facts {
                atomic::replace(&to.join(facts.kind.file()), &facts.text)?;
            }
        }
        Ok(())
    }

    /// The settings of the adapter that is trained.
    ///
    /// # Panics
    ///
    /// If all weights are trained.
    pub(crate) fn adapter_settings(&self) -> &AdapterSettings {
        self.adapter.as_ref().expect("an adapter is trained")
    }

    /// The base model's name for other machines, or its path.
    pub(crate) fn base_name(&self) -> &str {
        self.adapter.as_ref().and_then(|settings| settings.base.as_deref()).unwrap_or_default()
    }

    /// Bytes that learning from traces takes.
    pub fn sft_memory(&self, config: &Config) -> Plan {
        let purpose = match self.adapter {
            Some(_) => Purpose::Lora(&config.lora, keep(config)),
            None => Purpose::Full(keep(config)),
        };
        self.memory(config, config.training.per_device_train_batch_size as usize, purpose)
    }

    /// Bytes that learning from preference pairs takes: two sequences a pair, and no logits.
    pub fn rm_memory(&self, config: &Config) -> Plan {
        let pairs = config.training.per_device_train_batch_size as usize;
        let purpose = Purpose::Lora(&config.lora, keep(config));
        let plan = self.memory(config, 2 * pairs, purpose);
        Plan { logits: 0, ..plan }
    }

    /// [`Self::check_sft_room`] for preference pairs.
    ///
    /// # Errors
    ///
    /// If it has no room; the error says what takes most.
    pub(crate) fn check_rm_room(&self, config: &Config) -> Result<(), TrainError> {
        check_room(&self.rm_memory(config), self.decoder.device().room_bytes())
    }

    /// Bytes that learning from transitions takes: one sequence each, and no logits.
    pub fn prm_memory(&self, config: &Config) -> Plan {
        let transitions = config.training.per_device_train_batch_size as usize;
        let purpose = Purpose::Lora(&config.lora, keep(config));
        Plan { logits: 0, ..self.memory(config, transitions, purpose) }
    }

    /// [`Self::check_sft_room`] for transitions.
    ///
    /// # Errors
    ///
    /// If it has no room; the error says what takes most.
    pub(crate) fn check_prm_room(&self, config: &Config) -> Result<(), TrainError> {
        check_room(&self.prm_memory(config), self.decoder.device().room_bytes())
    }

    /// Bytes that learning from rollouts and the other two sources takes, and that sampling so many
    /// sequences takes.
    pub fn grpo_memory(&self, config: &Config, sequences: usize) -> (Plan, Plan) {
        let weights = &config.dual_source;
        let others = [weights.teacher_sft_weight, weights.self_sft_weight, weights.distill_weight];
        let sources = 1 + others.into_iter().filter(|&weight| weight > 0.0).count() as u64;
        let mut training = self.sft_memory(config);
        training.gradients = training.gradients.saturating_mul(sources);
        if self.adapter.is_none() && budget::measures_kl(config) {
            training.weights = training.weights.saturating_mul(2);
        }
        training.weights = training.weights.saturating_add(self.teacher_bytes);
        (training, self.memory(config, sequences, Purpose::Inference))
    }

    /// Counts a teacher of distillation that was loaded beside it in the plans of GRPO.
    pub fn count_teacher(&mut self, bytes: u64) {
        self.teacher_bytes = bytes;
    }

    /// Bytes that PPO takes to learn and to sample. Policy, critic, reference and reward model are adapters
    /// on one base, which counts once.
    pub fn ppo_memory(&self, config: &Config, sequences: usize) -> (Plan, Plan) {
        let mut training = self.sft_memory(config);
        let adapter = training.gradients;
        let own_critic = u64::from(config.ppo.critic == Critic::Adapter);
        let others = own_critic
            + u64::from(config.ppo.kl_coef > 0.0)
            + u64::from(!config.reward.model.is_empty())
            + u64::from(!config.reward.process.is_empty());
        training.weights = training.weights.saturating_add(adapter.saturating_mul(others));
        training.gradients = training.gradients.saturating_mul(1 + own_critic);
        training.means = training.means.saturating_mul(1 + own_critic);
        (training, self.memory(config, sequences, Purpose::Inference))
    }

    /// [`Self::check_sft_room`] for PPO.
    ///
    /// # Errors
    ///
    /// If it has no room; the error says what takes most.
    pub(crate) fn check_ppo_room(&self, config: &Config, limits: Limits) -> Result<(), TrainError> {
        self.check_rollout_room(self.ppo_memory(config, limits.sequences), limits)
    }

    /// Whether a device whose memory is its own has room for learning from traces.
    ///
    /// # Errors
    ///
    /// If it has not; the error says what takes most.
    pub(crate) fn check_sft_room(&self, config: &Config) -> Result<(), TrainError> {
        check_room(&self.sft_memory(config), self.decoder.device().room_bytes())
    }

    /// [`Self::check_sft_room`] for GRPO, whose rollouts are sampled while training state is in memory.
    ///
    /// # Errors
    ///
    /// If it has no room; the error says what takes most.
    pub(crate) fn check_grpo_room(
        &self,
        config: &Config,
        limits: Limits,
    ) -> Result<(), TrainError> {
        self.check_rollout_room(self.grpo_memory(config, limits.sequences), limits)
    }

    /// Whether there is room to learn, and to sample while training state is in memory.
    fn check_rollout_room(&self, plans: RolloutPlans, limits: Limits) -> Result<(), TrainError> {
        let (training, sampling) = plans;
        let Plan { weights, gradients, means, .. } = training;
        let cache = sampling.cache.min(limits.cache_bytes as u64);
        let beside = Plan { weights, gradients, means, cache, ..sampling };
        let room = self.decoder.device().room_bytes();
        check_room(&training, room).and_then(|()| check_room(&beside, room))
    }

    fn memory(&self, config: &Config, batch: usize, purpose: Purpose<'_>) -> Plan {
        let length = config.training.max_length as usize;
        let eight_bit = config.student.load_in_8bit;
        let target = Target::of(self.decoder.device());
        memory::plan(&self.model.config, Work { batch, length, eight_bit, target }, purpose)
    }
}

/// The plans of learning and of sampling.
type RolloutPlans = (Plan, Plan);

/// Refuses a plan that is larger than the room there is, if that is known.
fn check_room(plan: &Plan, room: Option<usize>) -> Result<(), TrainError> {
    let Some(room) = room else { return Ok(()) };
    let (needed, room) = (plan.total().saturating_add(CUDA_OVERHEAD_BYTES), room as u64);
    if needed <= room {
        return Ok(());
    }
    Err(TrainError::no_room(plan, needed, room))
}

/// The activations that layers keep for the backward pass.
pub(crate) fn keep(config: &Config) -> Keep {
    if config.training.gradient_checkpointing { Keep::Input } else { Keep::Most }
}

/// Every weight, as a checkpoint has it.
fn saved(
    device: &Device,
    model: &Pretrained,
    options: LoadOptions,
    dir: &Path,
) -> Result<Decoder, WeightsError> {
    let weights = Safetensors::open_dir(dir)?;
    Decoder::load(device, &model.config, &weights, options)
}

/// A new adapter, or that of a checkpoint.
fn adapter(
    decoder: &mut Decoder,
    config: &Config,
    checkpoint: Option<&Path>,
) -> Result<AdapterSettings, TrainError> {
    let Some(dir) = checkpoint else {
        let seed = Seed::new(config.seed).derive("adapter", 0);
        decoder.add_adapter(&config.lora, seed.get());
        return Ok(AdapterSettings::new(&config.lora));
    };
    let found = decoder.load_adapter(dir);
    let found = found.map_err(|err| TrainError::damaged(dir, CheckpointError::Adapter(err)))?;
    check_same(dir, &found, &AdapterSettings::new(&config.lora))?;
    Ok(found)
}

/// Refuses an adapter that is another than the settings ask for: they would say what is not so.
fn check_same(
    dir: &Path,
    found: &AdapterSettings,
    asked: &AdapterSettings,
) -> Result<(), TrainError> {
    let parts = [
        ("lora.rank", found.rank.to_string(), asked.rank.to_string()),
        ("lora.alpha", found.alpha.to_string(), asked.alpha.to_string()),
        ("lora.target_modules", names(&found.modules), names(&asked.modules)),
    ];
    match parts.into_iter().find(|(_, found, asked)| found != asked) {
        None => Ok(()),
        Some((key, found, asked)) => {
            Err(TrainError::OtherAdapter { path: dir.to_owned(), key, found, asked })
        }
    }
}

/// Modules as settings write them.
fn names(modules: &[Module]) -> String {
    serde_json::to_string(modules).unwrap_or_default()
}

/// The model that an adapter belongs to, by a name that means the same on other machines: that on the
/// hub, if it came from there, and that of the student that ships with `whet`. PEFT loads no GGUF file, so of
/// one it is the model that it was made from.
fn base_name(path: &Path, asked: &str, origin: Option<&str>) -> String {
    let is_gguf = path.extension().is_some_and(|ending| ending == "gguf");
    let is_on_the_hub = asked.contains('/') && !Path::new(asked).exists();
    match origin.filter(|_| is_gguf) {
        _ if asked == EMBEDDED => EMBEDDED.to_owned(),
        Some(origin) => origin.to_owned(),
        None if is_on_the_hub && !is_gguf => asked.to_owned(),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, student};

    #[test]
    fn a_base_from_the_hub_is_named_as_on_the_hub() {
        let cached = Path::new("cache/models--org--name/snapshots/1");
        assert_eq!(base_name(cached, "org/name", None), "org/name");
        let file = Path::new("cache/models--org--name-GGUF/snapshots/1/q8.gguf");
        assert_eq!(base_name(file, "org/name-GGUF", Some("org/name")), "org/name");
        let unknown = base_name(file, "org/name-GGUF", None);
        assert_eq!(unknown, file.display().to_string(), "PEFT could not load the hub's either");
        let dir = tempfile::tempdir().unwrap();
        let local = dir.path().display().to_string();
        assert_eq!(base_name(dir.path(), &local, None), local);
        // That of a quickstart is in its run, and named by its path.
        assert_eq!(
            base_name(Path::new("runs/q/student"), "runs/q/student", None),
            "runs/q/student"
        );
    }

    #[test]
    fn the_base_that_ships_with_whet_is_named_as_every_command_takes_it() {
        let cached = Path::new("home/.cache/whetstone/student-0.1.0");
        assert_eq!(base_name(cached, "embedded", None), "embedded");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_largest_part() {
        let plan = Plan { weights: 3 << 30, kept: 9 << 30, temporary: 1 << 30, ..Plan::default() };
        assert!(check_room(&plan, None).is_ok());
        assert!(check_room(&plan, Some(14 << 30)).is_ok());
        let refused = check_room(&plan, Some((14 << 30) - 1)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "this needs about 14336 MiB on the device, which has 14335 MiB free: 9216 MiB are what \
             layers keep for the backward pass"
        );
        assert!(refused.is_usage() && refused.hint().unwrap().contains("gradient_checkpointing"));
    }

    #[test]
    fn every_source_has_its_gradient_and_full_training_its_reference() {
        let mut config = settings();
        let (_dir, adapted) = student(&config);
        let alone = adapted.sft_memory(&config);
        let three = adapted.grpo_memory(&config, 1).0;
        assert_eq!(three.gradients, 3 * alone.gradients);
        assert_eq!(three.weights, alone.weights);

        config.training.train = Trained::Full;
        let (_dir, full) = student(&config);
        let alone = full.sft_memory(&config);
        assert_eq!(full.grpo_memory(&config, 1).0.weights, 2 * alone.weights);
        config.grpo.kl_coef = 0.0;
        assert_eq!(full.grpo_memory(&config, 1).0.weights, alone.weights);
        config.dual_source.kl_budget = 0.1;
        assert_eq!(full.grpo_memory(&config, 1).0.weights, 2 * alone.weights);
    }

    #[test]
    fn distillation_has_its_gradient_and_its_teacher() {
        let mut config = settings();
        let (_dir, mut student) = student(&config);
        let before = student.grpo_memory(&config, 1).0;
        config.dual_source.distill_weight = 1.0;
        student.count_teacher(1000);
        let after = student.grpo_memory(&config, 1).0;
        assert_eq!(3 * after.gradients, 4 * before.gradients);
        assert_eq!(after.weights, before.weights + 1000);
    }
}
