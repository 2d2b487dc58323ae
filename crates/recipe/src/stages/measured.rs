//! A model of a stage, sampled on tasks and judged: what `eval` and `sample` share.

use std::path::PathBuf;

use whetstone_eval::episodes::{Episodes, REWARD, labelled};
use whetstone_eval::{Estimate, RESULTS, Results};
use whetstone_record::stages::StageFigure;

use super::job::{Job, StageEnd};
use super::models::policy;
use crate::dry_run::Outcome;
use crate::evaluation::{self, EvalRequest, Policy};
use crate::failure::Failure;
use crate::text::many;

/// How a model is sampled.
pub(super) struct SampleOptions {
    pub(super) max_tokens: Option<usize>,
    pub(super) max_tasks: Option<usize>,
    pub(super) policy: Option<Policy>,
    pub(super) skip_greedy: bool,
    pub(super) keep_tokens: bool,
}

/// Measures the model of a stage, or the student where no stage made one.
pub(super) fn measure(
    job: &Job<'_>,
    tasks: PathBuf,
    sampling: &SampleOptions,
) -> Result<Outcome<StageEnd>, Failure> {
    let out = job.dir();
    // Complete results may be there: of a process that was killed before it recorded the stage.
    if !job.dry_run && out.join(RESULTS).exists() {
        return Ok(Outcome::Done(Some(figures(&Results::read(&out)?))));
    }
    let model = if sampling.policy.is_none() { Some(policy(job)?) } else { None };
    let mut sources = job.sources.clone();
    sources.set.push(format!("run.dir={}", job.stages.display()));
    // Rows to learn from are of one temperature.
    sources.set.extend(sampling.keep_tokens.then(|| "eval.more_temperatures=[]".to_owned()));
    sources.set.extend(job.device.map(|device| format!("run.device={device}")));
    let request = EvalRequest {
        best_of: None,
        baseline_prompts: Vec::new(),
        tasks,
        suite: None,
        model,
        adapter: None,
        server: None,
        policy: sampling.policy,
        samples: None,
        out,
        max_tokens: sampling.max_tokens,
        max_tasks: sampling.max_tasks,
        skip_greedy: sampling.skip_greedy,
        keep_tokens: sampling.keep_tokens,
        fresh: false,
        dry_run: job.dry_run,
        eight_bit: job.config.student.load_in_8bit,
        threads: job.threads,
        sources,
    };
    Ok(match evaluation::run(&request, job.stop, job.observer)? {
        Outcome::Planned(plan) => Outcome::Planned(plan),
        Outcome::Done(results) => {
            if let Some(errors) = results.as_ref().map(|found| found.errors).filter(|&all| all > 0)
            {
                let samples = many(errors, "sample");
                job.observer.warning(&format_args!("{samples} could not be judged"));
            }
            Outcome::Done(results.as_ref().map(figures))
        }
    })
}

/// The last point of the curve, and all means.
fn episodes(episodes: &Episodes) -> Vec<StageFigure> {
    let solved = episodes.solved_within.last_key_value();
    let solved = solved.map(|(k, found)| figure(format!("solved within {k} turns"), found));
    let means = labelled(&episodes.means).into_iter();
    solved.into_iter().chain(means.map(|mean| figure(mean.label, mean.value))).collect()
}

/// The mean reward alone, of another decoding than that of the other means.
fn reward(name: &str, episodes: Option<&Episodes>) -> Option<StageFigure> {
    Some(figure(name.to_owned(), episodes?.means.get(REWARD)?))
}

fn figure(name: String, found: &Estimate) -> StageFigure {
    let interval = Some([found.low, found.high]);
    StageFigure { name, value: found.value, interval }
}

fn figures(results: &Results) -> Vec<StageFigure> {
    let by_k = results.pass_at_k.iter().map(|(k, found)| figure(format!("pass@{k}"), found));
    let greedy = results.greedy.iter().map(|found| figure("greedy pass@1".to_owned(), found));
    let further = results.by_temperature.iter().flat_map(|(decoding, found)| {
        let by_k = found.pass_at_k.iter();
        let passes = by_k.map(move |(k, found)| figure(format!("pass@{k} at {decoding}"), found));
        passes.chain(reward(&format!("reward at {decoding}"), found.episodes.as_ref()))
    });
    let greedy_reward = reward("greedy reward", results.greedy_episodes.as_ref());
    let code = [("replies with code", &results.code), ("greedy with code", &results.greedy_code)];
    let code = code
        .into_iter()
        .filter_map(|(name, found)| Some(figure(name.to_owned(), &found.as_ref()?.code_rate)));
    let programs =
        results.figures.iter().map(|(which, found)| figure(which.label().to_owned(), found));
    by_k.chain(greedy)
        .chain(further)
        .chain(greedy_reward)
        .chain(code)
        .chain(programs)
        .chain(results.episodes.iter().flat_map(episodes))
        .collect()
}
