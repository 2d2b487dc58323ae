//! Episodes of several turns: the teacher is asked turn by turn, with the whole conversation.
//!
//! ```text
//! open ─► stored replies, told again ─► ask ─► journal ─► environment ─┬─► verdict ─► journal
//!                                        ▲────────── asks on ──────────┘
//! ```
//!
//! Every reply is in the journal before the environment hears it. A run that goes on tells the stored replies
//! to a fresh episode and asks from there: nothing is asked twice. A turn that failed leaves the turns before it
//! stored for the next run. An environment that breaks is infrastructure, and never a failure of the teacher.

use whetstone_core::completion::Completion;
use whetstone_core::extract::Reply;
use whetstone_core::judgement::Infrastructure;
use whetstone_core::message::{Message, Role};
use whetstone_core::outcome::Outcome;
use whetstone_core::taught::TaughtEpisode;
use whetstone_env::environment::{EnvError, Episode, Next};
use whetstone_record::batch::{BatchError, catch_panic};
use whetstone_record::error::JournalError;

use super::asked::Asked;
use super::collector::{End, PutQuestion, TraceCollector};
use super::plan;
use super::records::{Answered, Entry, Judged, JudgedSample};
use super::table::SampleId;
use super::teacher::{Failure, Refusal};
use crate::collect::broken;

/// An episode that is being led.
struct Course {
    episode: Box<dyn Episode>,
    /// Replies it has taken.
    turns: u32,
    /// Messages that the replies so far were answers to.
    heard: usize,
}

/// Why an episode did not come to its end in this run.
enum Interrupted {
    /// There was no answer.
    Refused(Refusal),
    /// An answer cannot be kept or read any more.
    Trouble(BatchError),
    /// Nobody is to ask on.
    Ended,
}

impl From<Infrastructure> for Interrupted {
    fn from(broken: Infrastructure) -> Self {
        Self::Refused(Refusal::Broken(broken))
    }
}

impl TraceCollector<'_> {
    /// Leads a teacher through an episode, from the turn after those that are stored.
    pub(super) fn drive(&self, place: SampleId) {
        match self.play(place).and_then(|outcome| self.keep_outcome(place, outcome)) {
            Ok(()) => {}
            Err(Interrupted::Ended) => return,
            Err(Interrupted::Trouble(err)) => return self.end(End::Trouble(err.into())),
            Err(Interrupted::Refused(refusal)) => {
                return self.refused(place.teacher, &[place.sample], refusal);
            }
        }
        (self.teaching.on_answer)(1);
        self.finished(1);
    }

    fn play(&self, place: SampleId) -> Result<Outcome, Interrupted> {
        let answers = self.state().stored.table.get(place).answers;
        let mut course = Course::open(self.asked, place.task)?;
        for offset in answers {
            let answered = self.stored_turn(place, offset)?;
            if answered.said != course.said() {
                return Err(Infrastructure(OTHER_ANSWER.to_owned()).into());
            }
            if let Some(outcome) = course.tell(&answered.completions[0])? {
                return Ok(outcome);
            }
        }
        let most = self.asked.turns(place.task);
        while (course.turns as usize) < most {
            let completion = self.ask_turn(place, &course)?;
            if let Some(outcome) = course.tell(&completion)? {
                return Ok(outcome);
            }
        }
        Ok(course.cut_short()?)
    }

    fn stored_turn(&self, place: SampleId, offset: u64) -> Result<Answered, Interrupted> {
        let entry = self.state().stored.ledger.read(offset).map_err(Interrupted::Trouble)?;
        match entry {
            Entry::Answer(answered) if !answered.completions.is_empty() => Ok(answered),
            _ => Err(Interrupted::Trouble(self.lost(place))),
        }
    }

    /// Asks for the next reply and keeps it.
    fn ask_turn(&self, place: SampleId, course: &Course) -> Result<Completion, Interrupted> {
        if self.state().end.is_some() {
            return Err(Interrupted::Ended);
        }
        let task = &self.asked.tasks.get(place.task).id;
        let seed = plan::seed(self.asked.seed(), task, place.sample, course.turns);
        let (messages, samples) = (course.episode.messages(), 1);
        let put = PutQuestion { task: place.task, teacher: place.teacher, messages, samples, seed };
        let mut answer = self.put(put).map_err(Interrupted::Refused)?;
        answer.completions.truncate(1);
        let answered = Answered {
            task: task.clone(),
            teacher: self.asked.name_of_several(place.teacher).map(str::to_owned),
            turn: course.turns,
            said: course.said(),
            prompt: self.asked.digest(place.task).to_owned(),
            samples: vec![place.sample],
            seed,
            model: answer.model,
            usage: answer.usage,
            completions: answer.completions,
        };
        let kept = self.state().stored.answered(place, &answered);
        match kept {
            Ok(()) => answered.completions.into_iter().next().ok_or(Interrupted::Ended),
            Err(BatchError::Journal(JournalError::Payload { source, .. })) => {
                let failure = Failure::not_kept(&source.to_string());
                Err(Interrupted::Refused(Refusal::Failed(failure)))
            }
            Err(err) => Err(Interrupted::Trouble(err)),
        }
    }

    fn keep_outcome(&self, place: SampleId, outcome: Outcome) -> Result<(), Interrupted> {
        let task = &self.asked.tasks.get(place.task).id;
        let teacher = self.asked.name_of_several(place.teacher);
        let whose = JudgedSample { task, teacher, sample: place.sample };
        let unseen = || Infrastructure("the environment made no observation".to_owned());
        let judged = Judged::of(whose, outcome.evidence).ok_or_else(unseen)?;
        self.state().stored.judged(place, judged).map_err(Interrupted::Trouble)
    }
}

/// The reward of an episode that is over, from its replies.
pub(super) fn replayed_reward(
    asked: &Asked<'_>,
    task: u32,
    episode: &TaughtEpisode,
) -> Result<f64, Infrastructure> {
    let mut course = Course::open(asked, task)?;
    for turn in episode.turns() {
        let reply = Reply { reasoning: turn.reasoning.as_deref(), ..Reply::text(&turn.text) };
        if let Some(outcome) = course.hear(reply)? {
            return Ok(outcome.reward.total());
        }
    }
    Ok(course.cut_short()?.reward.total())
}

const OTHER_ANSWER: &str = "the environment answers a stored reply otherwise than before; with another version \
                            or other settings of it begin anew with `--fresh`";

impl Course {
    fn open(asked: &Asked<'_>, task: u32) -> Result<Self, Infrastructure> {
        let episode = guarded(|| asked.open(task))?;
        Ok(Self { episode, turns: 0, heard: 0 })
    }

    /// What the environment has said since the last reply.
    fn said(&self) -> Vec<Message> {
        let new = self.episode.messages().iter().skip(self.heard);
        new.filter(|message| message.role != Role::Assistant).cloned().collect()
    }

    /// Tells the environment a reply; the outcome if the episode is over.
    fn tell(&mut self, completion: &Completion) -> Result<Option<Outcome>, Infrastructure> {
        self.hear(Reply::of(completion))
    }

    /// [`Self::tell`], with a reply that is no completion any more.
    fn hear(&mut self, reply: Reply<'_>) -> Result<Option<Outcome>, Infrastructure> {
        self.heard = self.episode.messages().len();
        self.turns += 1;
        match guarded(|| self.episode.reply(reply))? {
            Next::Ask => Ok(None),
            Next::Done(outcome) => Ok(Some(outcome)),
        }
    }

    fn cut_short(&mut self) -> Result<Outcome, Infrastructure> {
        guarded(|| self.episode.cut_short())
    }
}

/// A call of an environment: whatever breaks in it is infrastructure.
fn guarded<T>(call: impl FnOnce() -> Result<T, EnvError>) -> Result<T, Infrastructure> {
    catch_panic("an environment", call)?.map_err(broken)
}
