//! Samples of an evaluation, scored by a reward model: the best of N.
//!
//! The reward model is checked before anything is sampled, and loaded after that, so the two models are never in
//! memory together. Samples are scored as they stand in OUT/rollouts.jsonl, some at a time; a sample that is longer than
//! the reward model takes is never preferred, and counted.

use std::collections::{BTreeMap, HashMap};

use whetstone_algo::best_of::ScoredSample;
use whetstone_core::Task;
use whetstone_core::completion::Finish;
use whetstone_core::jsonl::Records;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::task::TaskId;
use whetstone_data::rows::Tokens;
use whetstone_eval::{EvalError, RESULTS, ROLLOUTS, Results, ScoredTasks, is_main_sample};
use whetstone_model::Pretrained;
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_model::template::Options;
use whetstone_train::Ending;
use whetstone_train::TrainError;
use whetstone_train::reward_model::{Facts, RewardModel, TokenReply};

use super::Measure;
use crate::device;
use crate::failure::Failure;
use crate::find::{self, Around, Found};
use crate::model_failure::ModelFailure;
use crate::text::counted;
use crate::training::reward_model;

/// Samples that are in memory at a time.
const AT_A_TIME: usize = 64;

/// Sequences that go through the model at a time.
const MICRO_BATCH: usize = 8;

/// A reward model whose directory was checked.
pub(super) struct Chooser {
    place: Found,
    model: Pretrained,
    reward_model: RewardModel,
}

impl Chooser {
    /// Opens the reward model that is asked for, if there is one.
    pub(super) fn open(measure: &Measure<'_>) -> Result<Option<Self>, Failure> {
        let Some(best_of) = &measure.request.best_of else { return Ok(None) };
        let dir = &reward_model::directory(&best_of.reward_model);
        let failed = |err| Failure::from(TrainError::from(err));
        let facts = Facts::read(dir).map_err(failed)?;
        let unpack = measure.request.out.join("student");
        let around =
            Around { unpack: Some(&unpack), ..Around::of(measure.config, measure.observer) };
        let place = find::find(&facts.base.name, &around)?;
        let model = place.open()?;
        let reward_model = RewardModel::open(dir, &model, &place.name).map_err(failed)?;
        if model.template.is_none() {
            return Err(TrainError::NoTemplate.into());
        }
        Ok(Some(Self { place, model, reward_model }))
    }

    /// Scores the samples of an evaluation, adds what choosing by the scores is worth, and writes the results again.
    pub(super) fn add(&self, measure: &Measure<'_>, results: &mut Results) -> Result<(), Failure> {
        let device = device::open(measure.config, measure.request.threads, measure.observer)?;
        let weights = WeightFormat::frozen(measure.request.eight_bit);
        let options = LoadOptions { weights, positions: self.model.config.positions };
        let mut decoder = self.place.load(&self.model, &device, options)?;
        let failed = |err| Failure::from(TrainError::from(err));
        self.reward_model.load(&mut decoder).map_err(failed)?;
        let (scored, too_long) = self.scored(measure, &decoder)?;
        if too_long > 0 {
            measure.observer.note(&format_args!(
                "{} longer than the reward model takes: never the best",
                counted(too_long, "sample")
            ));
        }
        let counts = measure.request.best_of.as_ref().map_or(&[][..], |best_of| &best_of.counts);
        results.add_best_of(counts, &scored);
        results.reward_model = Some(self.reward_model.dir().display().to_string());
        Ok(results.write(&measure.request.out.join(RESULTS))?)
    }

    /// The score of every judged sample at the temperature of the evaluation, and how many are too long to have one.
    fn scored(
        &self,
        measure: &Measure<'_>,
        decoder: &Decoder,
    ) -> Result<(ScoredTasks, usize), Failure> {
        let tasks: HashMap<&TaskId, &Task> =
            measure.tasks.iter().map(|task| (&task.id, task)).collect();
        let path = measure.request.out.join(ROLLOUTS);
        let progress = measure.observer.progress("sample");
        progress.phase("scoring by the reward model", 0, 0);
        let (mut scored, mut too_long, mut batch) = (BTreeMap::new(), 0, Vec::new());
        let mut records = Records::<RolloutLine, _>::open(&path).map_err(EvalError::Lines)?;
        loop {
            let read = records.next().transpose().map_err(EvalError::Lines)?;
            let is_over = read.is_none();
            if let Some(read) = read
                && let Some(&task) = tasks.get(&read.record.prompt_id)
            {
                batch.extend(self.sample(measure, task, read.record)?);
            }
            if batch.len() == AT_A_TIME || is_over {
                too_long += self.batch(decoder, &batch, &mut scored)?;
                batch.drain(..).for_each(|_: Sample| progress.add_one());
            }
            if is_over {
                progress.finish();
                return Ok((scored, too_long));
            }
        }
    }

    /// A sample as tokens; `None` if it was not judged, or is greedy or of a further temperature.
    fn sample(
        &self,
        measure: &Measure<'_>,
        task: &Task,
        mut line: RolloutLine,
    ) -> Result<Option<Sample>, Failure> {
        let Some(Score::Scored { outcome, .. }) = &line.score else { return Ok(None) };
        let Some(passed) = outcome.evidence.solved().filter(|_| is_main_sample(&line)) else {
            return Ok(None);
        };
        let finish: Option<Finish> = line.meta.take("finish").ok().flatten();
        let tokens = Ending::of(&self.model).ok_or_else(|| {
            TrainError::Settings(
                "the reward model's base has no token that ends a message".to_owned(),
            )
        })?;
        let prompt = PromptTemplate::of(&measure.config.prompt)?;
        let messages = prompt.prompt(task.view())?.asked();
        let template = self.model.template.as_ref().ok_or(TrainError::NoTemplate)?;
        let text = template.render(&messages, &Options::prompt()).map_err(ModelFailure::from)?;
        let prompt = self.model.tokenizer.encode(&text).map_err(ModelFailure::from)?;
        let mut completion = tokens.encode(&line.text);
        // A reply that was cut off has no end; of lines from elsewhere nobody says that they were.
        completion.extend((finish != Some(Finish::Length)).then(|| tokens.end()));
        Ok(Some(Sample { task: task.id.clone(), prompt, completion, passed }))
    }

    /// Scores some samples; how many are too long.
    fn batch(
        &self,
        decoder: &Decoder,
        samples: &[Sample],
        scored: &mut ScoredTasks,
    ) -> Result<usize, Failure> {
        let most = self.model.config.positions;
        let fits = |sample: &&Sample| sample.prompt.len() + sample.completion.len() <= most;
        let replies: Vec<TokenReply<'_>> = samples
            .iter()
            .filter(fits)
            .map(|sample| TokenReply { prompt: &sample.prompt, completion: &sample.completion })
            .collect();
        let found = self.reward_model.scores(decoder, &replies, MICRO_BATCH);
        let mut found = found.map_err(TrainError::from)?.into_iter();
        for sample in samples {
            let score = if fits(&sample) { found.next() } else { None };
            let score = score.unwrap_or(f64::NEG_INFINITY);
            let known: &mut Vec<ScoredSample> = scored.entry(sample.task.clone()).or_default();
            known.push(ScoredSample { score, passed: sample.passed });
        }
        Ok(samples.len() - replies.len())
    }
}

/// A sample as the reward model reads it.
struct Sample {
    task: TaskId,
    prompt: Vec<u32>,
    completion: Vec<u32>,
    passed: bool,
}
