//! The chat client against a server that behaves, and misbehaves by script.

use std::thread;
use std::time::Duration;

use serde_json::json;
use whetstone_core::Message;
use whetstone_core::config::TeacherConfig;

use super::*;
use crate::loopback::chat::{Act, ChatServer, Manners, Reasoning};
use crate::loopback::http::{Reply, Wire};

fn settings(server: &ChatServer) -> Settings {
    Settings {
        api_url: server.url(),
        backoff: Duration::from_millis(1),
        retry_after_limit: Duration::from_millis(1),
        breaker_pause: Duration::from_millis(1),
        ..Settings::default()
    }
}

fn client(server: &ChatServer) -> Client {
    Client::with_key(&settings(server), None).unwrap()
}

fn request(text: &str) -> Request {
    Request::of(&TeacherConfig::default(), vec![Message::user(text)])
}

fn status(status: u16, message: &str) -> Act {
    Act::Send(Reply::json(status, &json!({"error": {"message": message}})))
}

fn body(text: &str) -> Act {
    Act::Send(Reply::new(200, "application/json", text))
}

/// What comes of one request to a server that first does `acts`, and how often it was asked.
fn outcome(acts: Vec<Act>) -> (Result<Response, ChatError>, u64) {
    let server = ChatServer::start(Manners::script(acts));
    let outcome = client(&server).complete(&request("1+1?"));
    (outcome, server.asked())
}

#[track_caller]
fn survives(act: Act) {
    let (outcome, asked) = outcome(vec![act.clone(), act]);
    assert!(outcome.unwrap().completions[0].text.contains("```python"));
    assert_eq!(asked, 3);
}

#[track_caller]
fn gives_up_with(act: &Act, kind: FailureKind, words: &str) {
    let (outcome, asked) = outcome(vec![act.clone(); 10]);
    let err = outcome.unwrap_err();
    assert_eq!(asked, 6, "{err}");
    assert_eq!(err.reason(), kind.name(), "{err}");
    assert!(err.to_string().starts_with("6 tries failed in "), "{err}");
    assert!(err.to_string().contains(words), "{err}");
}

#[track_caller]
fn is_final(act: Act, reason: &str, words: &str) {
    let (outcome, asked) = outcome(vec![act]);
    let err = outcome.unwrap_err();
    assert_eq!(asked, 1, "{err}");
    assert_eq!(err.reason(), reason, "{err}");
    assert!(err.to_string().contains(words), "{err}");
}

#[test]
fn the_request_arrives_as_it_was_written_and_the_answer_comes_back_whole() {
    let server = ChatServer::start(Manners::default());
    let response = client(&server).complete(&request("1+1?")).unwrap();
    assert_eq!(response.model, "Qwen/Qwen3-32B-FP8");
    assert!(response.completions[0].text.starts_with("<think>"), "{response:?}");
    assert_eq!(response.completions[0].reasoning, None);
    assert!(response.usage.is_reported && response.usage.completion_tokens > 0);
    let asked = &server.requests()[0];
    assert_eq!(asked.body, request("1+1?").to_json().as_bytes());
    assert_eq!(asked.headers["content-type"], "application/json");
    assert_eq!(asked.headers.get("authorization"), None);
}

#[test]
fn a_server_in_trouble_is_asked_again() {
    survives(status(429, "slow down"));
    survives(Act::Send(Reply::new(429, "text/plain", "").with("retry-after", "3600")));
    survives(status(500, "oops"));
    survives(status(503, "loading"));
    survives(status(408, "too slow"));
}

#[test]
fn a_broken_wire_is_asked_again() {
    survives(Act::Over(Wire::CutInHeaders));
    survives(Act::Over(Wire::CutInBody(40)));
    survives(Act::Over(Wire::ClaimedLength(1 << 20)));
    survives(Act::Over(Wire::Noise));
}

#[test]
fn an_answer_that_is_no_completion_is_asked_for_again() {
    survives(body(r#"{"choices":[{"message":{"content":"cut"#));
    survives(body(r#"{"choices":[]}"#));
    survives(body("<html>gateway</html>"));
    survives(body(r#"{"error":{"message":"engine is dead"}}"#));
    // A length that is too short cuts the JSON.
    survives(Act::Over(Wire::ClaimedLength(10)));
}

#[test]
fn chunks_and_a_body_without_a_length_are_whole_answers() {
    for wire in [Wire::Chunked(7), Wire::UntilClose] {
        let (outcome, asked) = outcome(vec![Act::Over(wire)]);
        assert!(outcome.unwrap().completions[0].text.ends_with("```"));
        assert_eq!(asked, 1);
    }
}

#[test]
fn after_the_last_try_the_last_failure_is_told() {
    gives_up_with(&status(500, "oops"), FailureKind::ServerError, "answers 500: oops");
    gives_up_with(&status(429, "slow down"), FailureKind::RateLimited, "answers 429: slow down");
    gives_up_with(&body("<html>"), FailureKind::Malformed, "it is not a completion");
    gives_up_with(&body(r#"{"choices":[]}"#), FailureKind::NoChoices, "it has no choices");
    let dead = body(r#"{"error":{"message":"engine is dead"}}"#);
    gives_up_with(&dead, FailureKind::ServerError, "engine is dead");
    gives_up_with(&Act::Over(Wire::CutInBody(40)), FailureKind::Connection, "broke");
    gives_up_with(&Act::Over(Wire::CutInHeaders), FailureKind::Connection, "broke");
}

#[test]
fn a_refusal_is_final_and_in_the_servers_words() {
    is_final(status(400, "context is too long"), "refused", "400: context is too long");
    is_final(status(404, "no model X"), "refused", "404: no model X");
    let moved = Reply::new(308, "text/plain", "").with("location", "http://other/v1?key=1");
    is_final(Act::Send(moved), "refused", "308: moved to `http://other/v1`");
}

#[test]
fn an_answer_beyond_the_limit_is_one_failure_whether_it_says_its_length_or_not() {
    for wire in [Wire::Whole, Wire::Chunked(1 << 16), Wire::UntilClose] {
        let huge = Reply::new(200, "application/json", vec![b' '; 10 << 20]).sent(wire);
        let (outcome, asked) = outcome(vec![Act::Send(huge)]);
        let err = outcome.unwrap_err();
        assert_eq!((err.reason(), asked), ("too_long", 1));
        let ChatError::TooLong(source) = err else { panic!("{err}") };
        assert!(source.to_string().contains("exceeds 8388608 bytes"), "{source}");
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time_and_asked_again() {
    let server = ChatServer::start(Manners::script([Act::Over(Wire::Silence)]));
    let settings = Settings { request_timeout: Duration::from_secs(2), ..settings(&server) };
    let client = Client::with_key(&settings, None).unwrap();
    assert_eq!(client.complete(&request("1+1?")).unwrap().completions.len(), 1);
    assert!(server.asked() >= 2);
    let silent = Manners { act: Box::new(|_, _| Act::Over(Wire::Silence)), ..Manners::default() };
    let silent = ChatServer::start(silent);
    let settings = Settings {
        api_url: silent.url(),
        request_timeout: Duration::from_millis(50),
        max_tries: 1,
        ..settings
    };
    let err = Client::with_key(&settings, None).unwrap().complete(&request("x")).unwrap_err();
    assert_eq!(err.reason(), "timeout");
    assert!(err.to_string().contains("did not answer in time"), "{err}");
}

#[test]
fn reasoning_in_a_field_is_kept_apart() {
    for reasoning in [Reasoning::Content, Reasoning::Plain] {
        let server = ChatServer::start(Manners { reasoning, ..Manners::default() });
        let completion = client(&server).complete(&request("x")).unwrap().completions.remove(0);
        assert!(completion.reasoning.unwrap().starts_with("The answer is"));
        assert!(!completion.text.contains("think"), "{}", completion.text);
    }
}

#[test]
fn as_many_completions_come_as_the_server_gives() {
    let server = ChatServer::start(Manners { most_choices: 3, ..Manners::default() });
    let count = |n| {
        let request = Request { n, ..request("x") };
        client(&server).complete(&request).unwrap().completions.len()
    };
    assert_eq!((count(None), count(Some(2)), count(Some(8))), (1, 2, 3));
    let generous = r#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#;
    assert_eq!(outcome(vec![body(generous)]).0.unwrap().completions.len(), 1);
}

#[test]
fn a_key_is_sent_and_shown_nowhere_even_if_the_server_repeats_it() {
    let key = "sk-very/secret\"key";
    let echo = |code| status(code, "bad header 'Authorization: Bearer sk-very/secret\"key'");
    let raw = Act::Send(Reply::new(200, "text/plain", format!("you sent {key}")));
    for act in [echo(401), echo(500), raw, body(r#"{"error":"Bearer sk-very\/secret\"key"}"#)] {
        let server = ChatServer::start(Manners::script(vec![act; 10]));
        let secret = Secret::new(key).unwrap();
        let client = Client::with_key(&settings(&server), secret).unwrap();
        let err = client.complete(&request("x")).unwrap_err();
        let sent = server.requests().remove(0).headers.remove("authorization");
        assert_eq!(sent, Some(format!("Bearer {key}")));
        let source = std::error::Error::source(&err).map(ToString::to_string);
        let shown = format!("{err} {err:?} {source:?} {client:?} {:?}", err.hint());
        assert!(shown.contains("[key]"), "{shown}");
        assert!(!shown.contains("secret\"key") && !shown.contains("secret\\\"key"), "{shown}");
    }
}

#[test]
fn when_the_server_is_gone_every_thread_stops_with_one_message() {
    let server = ChatServer::start(Manners::default());
    let settings = Settings { breaker_failures: 8, max_tries: 1000, ..settings(&server) };
    drop(server);
    let client = Client::with_key(&settings, None).unwrap();
    let messages: Vec<String> = thread::scope(|scope| {
        let ask = || client.complete(&request("x")).unwrap_err().to_string();
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let first = &messages[0];
    assert!(first.contains("requests in a row failed"), "{first}");
    assert!(first.contains(&client.url()) && first.contains("cannot reach"), "{first}");
    assert!(messages.iter().all(|message| message == first), "{messages:?}");
    let err = client.complete(&request("y")).unwrap_err();
    assert!(err.ends_all() && err.hint().unwrap().contains("--test-connection"));
}

#[test]
fn a_refusal_shows_that_the_server_is_there() {
    let acts = (0..20).map(|n| if n % 2 == 0 { status(503, "busy") } else { status(400, "no") });
    let server = ChatServer::start(Manners::script(acts));
    let settings =
        Settings { breaker_failures: 2, breaker_probes: 1, max_tries: 1, ..settings(&server) };
    let client = Client::with_key(&settings, None).unwrap();
    let reasons: Vec<_> =
        (0..20).map(|_| client.complete(&request("x")).unwrap_err().reason()).collect();
    assert_eq!(reasons, ["server_error", "refused"].repeat(10));
}

#[test]
fn a_server_that_comes_back_after_the_pause_costs_no_request() {
    let manners = Manners {
        act: Box::new(|n, _| if n < 12 { status(503, "restarting") } else { Act::Answer }),
        ..Manners::default()
    };
    let server = ChatServer::start(manners);
    let settings =
        Settings { breaker_failures: 8, breaker_probes: 100, max_tries: 13, ..settings(&server) };
    let client = Client::with_key(&settings, None).unwrap();
    thread::scope(|scope| {
        let ask = || client.complete(&request("x")).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().is_ok()));
    });
    assert_eq!(server.asked(), 16);
}

#[test]
fn threads_share_connections() {
    let server = ChatServer::start(Manners::default());
    let client = client(&server);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| drop(client.complete(&request("x")).unwrap())));
        }
    });
    assert_eq!(server.asked(), 200);
    // Eight at a time; a few more where one was given back while another was asked for.
    assert!(server.connections() < 50, "{}", server.connections());
}

/// A completion that was cut off, with these fields of its message.
fn cut_off(fields: &str) -> Act {
    let choice = format!(r#"{{"message":{{{fields}}},"finish_reason":"length"}}"#);
    body(&format!(r#"{{"model":"m","choices":[{choice}]}}"#))
}

#[test]
fn a_cut_off_text_without_a_sign_of_where_thinking_ends_is_thinking_if_that_was_asked_for() {
    let read = |fields: &str, thinks: bool| {
        let server = ChatServer::start(Manners::script([cut_off(fields)]));
        let teacher = TeacherConfig { enable_thinking: thinks, ..TeacherConfig::default() };
        let request = Request::of(&teacher, vec![Message::user("1+1?")]);
        let completion = client(&server).complete(&request).unwrap().completions.remove(0);
        (completion.text, completion.reasoning)
    };
    let text = |text: &str| (text.to_owned(), None);
    let draft = r#""content":"a draft""#;
    assert_eq!(read(draft, true), (String::new(), Some("a draft".to_owned())));
    assert_eq!(read(draft, false), text("a draft"));
    assert_eq!(read(r#""content":"<think>a draft""#, true), text("<think>a draft"));
    let closed = "why</think>an answer";
    assert_eq!(read(&format!(r#""content":"{closed}""#), true), text(closed));
    let parsed = ("an answer".to_owned(), Some("why".to_owned()));
    assert_eq!(read(r#""content":"an answer","reasoning_content":"why""#, true), parsed);
    let server = ChatServer::start(Manners::script([cut_off(draft)]));
    let probe = client(&server).probe(&request("unused")).unwrap();
    assert_eq!(probe.reasoning, ReasoningPlace::NotSeen, "a probe guesses nothing");
    let (whole, _) = outcome(vec![body(r#"{"choices":[{"message":{"content":"x"}}]}"#)]);
    assert_eq!(whole.unwrap().completions[0].text, "x");
}

#[test]
fn a_probe_says_what_the_server_can_do() {
    let like = request("unused");
    let server = ChatServer::start(Manners { most_choices: 1, ..Manners::default() });
    let probe = client(&server).probe(&like).unwrap();
    assert_eq!(probe.reasoning, ReasoningPlace::Inline);
    assert!(!probe.honours_n());
    assert_eq!(probe.model, "Qwen/Qwen3-32B-FP8");
    let able = ChatServer::start(Manners { reasoning: Reasoning::Plain, ..Manners::default() });
    let probe = client(&able).probe(&like).unwrap();
    assert_eq!((probe.reasoning, probe.honours_n()), (ReasoningPlace::Field, true));
    let plain = Manners { text: Box::new(|_, _| "2".to_owned()), ..Manners::default() };
    let plain = ChatServer::start(plain);
    assert_eq!(client(&plain).probe(&like).unwrap().reasoning, ReasoningPlace::NotSeen);
    let broken = ChatServer::start(Manners::script([status(500, "no GPU")]));
    let err = client(&broken).probe(&like).unwrap_err();
    assert!(err.to_string().contains("500: no GPU"), "{err}");
    assert_eq!(broken.asked(), 1);
}

#[test]
fn models_are_listed_beside_the_chat() {
    let server = ChatServer::start(Manners::default());
    assert_eq!(client(&server).models().unwrap(), ["loopback"]);
    let elsewhere = |path: &str| {
        let api_url = server.url().replace("/v1/chat/completions", path);
        let settings = Settings { api_url, ..settings(&server) };
        Client::with_key(&settings, None).unwrap().models().unwrap_err().to_string()
    };
    assert!(elsewhere("/ask").contains("is not known"), "{}", elsewhere("/ask"));
    let not_found = elsewhere("/other/chat/completions");
    assert!(not_found.contains("answers 404"), "{not_found}");
}

#[test]
fn only_tries_that_are_made_are_told_and_counted() {
    let server = ChatServer::start(Manners::script(vec![status(500, "oops"); 10]));
    let settings = Settings { breaker_failures: 2, breaker_probes: 1, ..settings(&server) };
    let told = std::sync::Arc::new(Mutex::new(Vec::new()));
    let tell = std::sync::Arc::clone(&told);
    let client = Client::with_key(&settings, None)
        .unwrap()
        .watched(OnRetry::new(move |retry| tell.lock().unwrap().push(retry.next)));
    let outcome = client.complete(&request("1+1?"));
    assert!(matches!(outcome, Err(ChatError::Gone { failures: 3, .. })), "{outcome:?}");
    assert_eq!(server.asked(), 3);
    assert_eq!(*told.lock().unwrap(), [2, 3], "none after the end");
    assert_eq!(client.retried().into_values().collect::<Vec<_>>(), [2]);
}

/// What comes of asking for scores of a server that first does `acts`, and how often it was asked.
fn scored(acts: Vec<Act>) -> (Result<Vec<f64>, ChatError>, ChatServer) {
    let server = ChatServer::start(Manners::script(acts));
    let asked = TokensToScore { model: "m", tokens: &[3, 8, 12, 7], first: 2 };
    (client(&server).prompt_logprobs(asked), server)
}

#[test]
fn tokens_are_scored_as_vllm_is_asked_to() {
    let (scores, server) = scored(vec![]);
    // The server's own rule: -1 less an eighth for each of the id's remainder by 8.
    assert_eq!(scores.unwrap(), [-1.5, -1.875]);
    let [asked] = &server.requests()[..] else { panic!("one request") };
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/completions"));
    assert_eq!(
        String::from_utf8_lossy(&asked.body),
        r#"{"model":"m","prompt":[3,8,12,7],"max_tokens":1,"temperature":0.0,"prompt_logprobs":0}"#
    );
}

#[test]
fn scores_that_fail_are_asked_for_again_and_the_last_failure_names_the_entry() {
    let wrong = r#"{"choices":[{"prompt_logprobs":[null,{"8":{"logprob":-1}},{"1":{"logprob":-1}},null]}]}"#;
    let (scores, server) = scored(vec![status(503, "loading"), body(wrong)]);
    assert_eq!((scores.unwrap().len(), server.asked()), (2, 3));
    let (scores, server) = scored(vec![body(wrong); 10]);
    let err = scores.unwrap_err();
    assert_eq!((server.asked(), err.reason()), (6, "malformed"), "{err}");
    assert!(err.to_string().contains("entry 2 of its `prompt_logprobs` does not have token 12"));
    assert!(!err.ends_all(), "another sequence may be scored");
}

#[test]
fn a_server_that_knows_no_scores_is_asked_once() {
    let (scores, server) = scored(vec![body(r#"{"choices":[{"text":"x"}]}"#)]);
    let err = scores.unwrap_err();
    assert_eq!(server.asked(), 1, "{err}");
    assert!(err.ends_all());
    assert!(err.to_string().ends_with("answers without `prompt_logprobs`: it cannot score tokens"));
    assert!(err.hint().unwrap().contains("vllm serve"));
}
