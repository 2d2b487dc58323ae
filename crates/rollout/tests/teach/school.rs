//! A teacher that is a function, a folder of tasks, and how they are put together.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;
use whetstone_core::completion::{Completion, Finish};
use whetstone_core::config::Config;
use whetstone_core::task::Task;
use whetstone_core::trace::Usage;
use whetstone_core::wire::Object;
use whetstone_env::python::Rules;
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::score::BadLines;
use whetstone_rollout::teach::{
    Earlier, Failure, NamedTeacher, Question, Refusal, TeachError, TeachSummary, Teacher,
    TeacherAnswer, Teaching, teach,
};
use whetstone_sandbox::job::Limits;

use crate::common::{Shared, environments, programs};

/// What a stand-in does before it answers; `None` lets it answer.
type Mood =
    Box<dyn Fn(usize, &Question<'_>) -> Option<Result<TeacherAnswer, Refusal>> + Send + Sync>;

/// A teacher whose answers follow from the question alone.
#[derive(Default)]
pub(crate) struct StandIn {
    pub(crate) mood: Option<Mood>,
    asked: Mutex<Vec<(String, u32)>>,
}

impl StandIn {
    /// One with a mood: called with the number of the question.
    pub(crate) fn moody(
        mood: impl Fn(usize, &Question<'_>) -> Option<Result<TeacherAnswer, Refusal>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { mood: Some(Box::new(mood)), ..Self::default() }
    }

    /// Questions so far: their prompts and seeds.
    pub(crate) fn asked(&self) -> Vec<(String, u32)> {
        self.asked.lock().expect("no test panics there").clone()
    }
}

impl Teacher for StandIn {
    fn ask(&self, question: Question<'_>) -> Result<TeacherAnswer, Refusal> {
        let number = {
            let mut asked = self.asked.lock().expect("no test panics there");
            asked.push((prompt(&question), question.seed));
            asked.len() - 1
        };
        let refused = self.mood.as_ref().and_then(|mood| mood(number, &question));
        refused.unwrap_or_else(|| Ok(answer(&question, question.samples)))
    }
}

/// The last message of a question.
fn prompt(question: &Question<'_>) -> String {
    question.messages.last().map(|message| message.content.clone()).expect("a message")
}

/// So many completions; what is in them depends on the seed.
pub(crate) fn answer(question: &Question<'_>, samples: u32) -> TeacherAnswer {
    let completion = |at: u32| {
        let word = ["PASS", "wrong", "RAISES", ""][((question.seed + at) % 4) as usize];
        let text = match word {
            "" => "I cannot do that.".to_owned(),
            _ => format!("```python\ndef f(x):\n    return x  # {word} {}\n```", question.seed),
        };
        let reasoning = at.is_multiple_of(2).then(|| "Let me see.".to_owned());
        Completion { text, reasoning, finish: Finish::Stop, tokens: None }
    };
    let usage = Usage { prompt_tokens: 10, completion_tokens: 7, rest: Object::new() };
    let completions = (0..samples).map(completion).collect();
    TeacherAnswer { model: "stand-in".to_owned(), completions, usage: Some(usage) }
}

/// A failure with this reason.
pub(crate) fn failed(reason: &str) -> Refusal {
    let failure = Failure { reason: reason.to_owned(), detail: format!("{reason}, in detail") };
    Refusal::Failed(failure)
}

/// The end of all asking.
pub(crate) fn stopped() -> Refusal {
    let (message, hint) = ("the server is gone".to_owned(), "start it".to_owned());
    Refusal::Stopped { message, hint }
}

/// A folder with tasks.
pub(crate) struct School {
    pub(crate) folder: PathBuf,
    pub(crate) config: Config,
    pub(crate) settings: Vec<(String, String)>,
    /// The file of rows, if they are wanted.
    pub(crate) rows: Option<&'static str>,
}

/// What differs from one run to the next.
pub(crate) struct Lesson<'a> {
    pub(crate) teacher: &'a dyn Teacher,
    pub(crate) judge: Option<&'a dyn Shared>,
    pub(crate) samples: u32,
    pub(crate) per_request: u32,
    pub(crate) in_flight: usize,
    pub(crate) max_tasks: Option<u32>,
    pub(crate) bad_lines: BadLines,
    pub(crate) earlier: Earlier,
}

impl<'a> Lesson<'a> {
    /// Three samples of every task, one by one.
    pub(crate) fn of(teacher: &'a dyn Teacher, judge: &'a dyn Shared) -> Self {
        Self {
            teacher,
            judge: Some(judge),
            samples: 3,
            per_request: 1,
            in_flight: 4,
            max_tasks: None,
            bad_lines: BadLines::Reject,
            earlier: Earlier::Resume,
        }
    }
}

/// A task with three tests; `more` are fields behind, each with its comma.
pub(crate) fn task(id: &str, more: &str) -> String {
    let tests = r#"{"kind":"asserts","hidden":["assert f(1)","assert f(2)","assert f(3)"]}"#;
    format!("{{\"id\":\"{id}\",\"statement\":\"Solve {id}.\",\"tests\":{tests}{more}}}\n")
}

impl School {
    /// A folder with these tasks.
    pub(crate) fn new(folder: &Path, tasks: &str) -> Self {
        let school = Self {
            folder: folder.to_owned(),
            config: Config::default(),
            settings: vec![("teacher.model_name".to_owned(), "stand-in".to_owned())],
            rows: None,
        };
        fs::write(school.path("tasks.jsonl"), tasks).expect("a file");
        school
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    /// The traces of `output`, line by line.
    pub(crate) fn traces(&self, output: &str) -> Vec<Value> {
        let text = self.read(output);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub(crate) fn teach(
        &self,
        output: &str,
        lesson: &Lesson<'_>,
    ) -> Result<TeachSummary, TeachError> {
        let &Lesson { teacher, samples, .. } = lesson;
        self.teach_by(output, lesson, &[NamedTeacher { name: "stand-in", teacher, samples }])
    }

    /// The same by these teachers, not by that of the lesson.
    pub(crate) fn teach_by(
        &self,
        output: &str,
        lesson: &Lesson<'_>,
        teachers: &[NamedTeacher<'_>],
    ) -> Result<TeachSummary, TeachError> {
        let rows = self.rows.map(|name| self.path(name));
        let build = |tasks: &[Task]| {
            let rules = Rules::new(self.config.reward.clone());
            let judge = lesson.judge.map(Shared::shared);
            let held = judge.map(|judge| programs(judge, rules, Limits::default()));
            environments(&self.config, held, tasks)
        };
        teach(&Teaching {
            tasks: &self.path("tasks.jsonl"),
            output: &self.path(output),
            rows: rows.as_deref(),
            teachers,
            settings: &self.settings,
            config: &self.config,
            samples_per_request: lesson.per_request,
            in_flight: lesson.in_flight,
            max_tasks: lesson.max_tasks,
            environments: EnvironmentSource::Build(&build),
            judges: 2,
            bad_lines: lesson.bad_lines,
            earlier: lesson.earlier,
            on_start: &|_| {},
            on_answer: &|_| {},
            on_sample: &|| {},
        })
    }
}
