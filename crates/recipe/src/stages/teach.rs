//! `teach`: tasks into teachers' traces, and SFT rows of those that are kept.

use serde::Deserialize;

use super::job::{Job, Kind, StageEnd, Stops, figure, options};
use super::what::{Take, What};
use crate::dry_run::Outcome;
use crate::failure::Failure;
use crate::teaching::{self, TeachRequest, TeacherChoice};
use crate::text::many;
use crate::{ROWS, TRACES, number};

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "teach",
    command: "whet teach",
    takes: |_| vec![Take::Needs(What::Tasks)],
    makes: &[(What::Traces, TRACES), (What::Rows, ROWS)],
    check: |entry, _| options::<TeachOptions>(entry),
    run,
    sections: &["prompt", "teacher", "env", "sandbox", "reward"],
    stops: Stops::AtOnce,
};

/// The options, named as the flags of `whet teach`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TeachOptions {
    teacher: TeachersOption,
    max_tasks: Option<u32>,
    num_samples: Option<u32>,
    no_judge: bool,
    strict: bool,
}

/// One teacher, or a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum TeachersOption {
    One(TeacherOption),
    Several(Vec<TeacherOption>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TeacherOption {
    Remote,
    Embedded,
    Reference,
}

impl Default for TeachersOption {
    fn default() -> Self {
        Self::One(TeacherOption::Remote)
    }
}

impl TeachersOption {
    fn choices(&self) -> Vec<TeacherChoice> {
        let all = match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several.as_slice(),
        };
        let choice = |one: &TeacherOption| match one {
            TeacherOption::Remote => TeacherChoice::Remote,
            TeacherOption::Embedded => TeacherChoice::Embedded,
            TeacherOption::Reference => TeacherChoice::Reference,
        };
        all.iter().map(choice).collect()
    }
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    job.create_dir()?;
    let options: TeachOptions = job.options()?;
    let request = TeachRequest {
        tasks: job.needed(What::Tasks),
        out: job.dir().join(TRACES),
        rows: Some(job.dir().join(ROWS)),
        teachers: options.teacher.choices(),
        max_tasks: options.max_tasks,
        num_samples: options.num_samples,
        // Complete traces may be there: of a process that was killed before it recorded the stage.
        only_missing: true,
        fresh: false,
        no_judge: options.no_judge,
        strict: options.strict,
        dry_run: job.dry_run,
    };
    Ok(match teaching::run(&request, job.config, job.observer)? {
        Outcome::Planned(plan) => Outcome::Planned(plan),
        Outcome::Done(report) if report.is_incomplete() => {
            return Err(Failure::Stages {
                problem: format!(
                    "{} without an answer and {} without a verdict",
                    many(report.failed, "sample"),
                    report.unjudged
                ),
                hint: "run the file again: what is there is kept, and the rest is asked for again"
                    .to_owned(),
            });
        }
        Outcome::Done(report) => Outcome::Done(Some(vec![
            figure("traces", number(report.responses)),
            figure("passing traces", number(report.passing)),
            figure("rows", number(report.rows)),
        ])),
    })
}
