//! The teacher that is a server.

use whetstone_core::trace::Usage;
use whetstone_core::wire::Object;
use whetstone_core::with_causes;
use whetstone_remote::chat::{ChatError, Request, Response, Server};
use whetstone_rollout::teach::{Failure, Question, Refusal, Teacher, TeacherAnswer};

/// A server of chat completions.
pub(super) struct Remote(pub(super) Server);

impl Teacher for Remote {
    fn ask(&self, question: Question<'_>) -> Result<TeacherAnswer, Refusal> {
        let request = Request {
            n: (question.samples > 1).then_some(question.samples),
            seed: Some(question.seed),
            ..self.0.request(question.messages.to_vec())
        };
        self.0.complete(&request).map(|response| self.answer(response)).map_err(|err| refusal(&err))
    }

    fn stop(&self) {
        self.0.client().stop();
    }
}

impl Remote {
    fn answer(&self, response: Response) -> TeacherAnswer {
        let Response { model, completions, usage } = response;
        let model = if model.is_empty() { self.0.settings().model_name.clone() } else { model };
        let usage = usage.is_reported.then(|| {
            let mut rest = Object::new();
            rest.put("total_tokens", &usage.total_tokens);
            let (prompt_tokens, completion_tokens) = (usage.prompt_tokens, usage.completion_tokens);
            Usage { prompt_tokens, completion_tokens, rest }
        });
        TeacherAnswer { model, completions, usage }
    }
}

/// Whether only this question failed, or asking on makes no sense.
fn refusal(err: &ChatError) -> Refusal {
    if !err.ends_all() {
        return Refusal::Failed(Failure {
            reason: err.reason().to_owned(),
            detail: with_causes(err),
        });
    }
    let gone = "start the server, check it with `whet teach --test-connection`, and run the same \
                command again";
    Refusal::Stopped { message: with_causes(err), hint: err.hint().unwrap_or(gone).to_owned() }
}
