//! Collected rollouts as lines, and back.

use std::sync::Arc;

use whetstone_core::completion::{Completion, Finish, SampledTokens};
use whetstone_core::message::Message;
use whetstone_core::outcome::Outcome;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_core::wire::{Wire, WireError};
use whetstone_infer::Rule;
use whetstone_rollout::collect::record::{
    RecordedTurn, Recording, UnjudgedReply, lines, remove_tokens, turns, unjudged_line,
};
use whetstone_rollout::collect::{Group, Turn, collect};

use crate::stage::{Player, Stage, asked, collecting, task};

/// Two judged rollouts, the second of two turns, around one that was dropped.
fn group() -> Group {
    let (stage, tasks) = (Stage::default().turns(2), [task("x/1")]);
    let says = |prompt: &str, sample: usize| {
        let first = ["pass", "broken", "more"][sample];
        if prompt.lines().count() > 1 { "half é\u{1F600}".to_owned() } else { first.to_owned() }
    };
    let collected =
        collect(&collecting(&stage), &mut Player::new(&says), &asked(&tasks, 3)).unwrap();
    collected.groups.into_iter().next().unwrap()
}

fn recording(advantages: &[f64]) -> Recording<'_> {
    let rule = Rule { temperature: 0.7, top_p: 0.95, ..Rule::default() };
    Recording {
        step: 12,
        rule,
        max_tokens: Some(100),
        model: Some("m/x"),
        tokenizer: Some("0af1"),
        advantages,
        estimates: &[],
        thinking_opened: false,
    }
}

/// A turn as it was before it was written; what was asked is apart.
fn turn(read: RecordedTurn, asked: Arc<[Message]>) -> Turn {
    let RecordedTurn { prompt, text, reasoning, finish, ids, logps } = read;
    let tokens = ids.zip(logps).map(|(ids, logps)| SampledTokens::new(ids, logps).unwrap());
    Turn { prompt, asked, completion: Completion { text, reasoning, finish, tokens } }
}

fn parse(line: &str) -> RolloutLine {
    RolloutLine::from_object(serde_json::from_str(line).unwrap()).unwrap()
}

#[test]
fn a_line_says_what_was_sampled_and_what_it_is_worth() {
    let lines = lines(&group(), &recording(&[1.0, -1.0]));
    let first = lines[0].to_line();
    let logps = "[-0.008904719,-0.010277492,-0.008673026,-0.008673026]";
    let expected = format!(
        "{}{}{}{}{}",
        r#"{"step":12,"prompt_id":"x/1","group_id":0,"text":"pass","meta":{"temperature":0.7,"#,
        r#""top_p":0.95,"max_new_tokens":100,"model":"m/x","tokenizer":"0af1","tokens":4,"finish":"stop","end":"done","turns":[{"#,
        format_args!(
            r#""prompt":[120,47,49],"finish":"stop","ids":[112,97,115,115],"logps":{logps}}}]}},"#
        ),
        r#""validation":{"verdict":"pass","tests_passed":2,"tests_total":2,"cpu_ms":1.5,"isolation":"full"},"#,
        r#""reward":{"total":1.0,"terms":{"tests":1.0},"weights":{"tests":1.0},"gates":{}},"advantage":1.0}"#,
    );
    assert_eq!(first, expected);
}

#[test]
fn lines_stand_in_the_order_of_their_numbers_each_with_its_score() {
    let lines = lines(&group(), &recording(&[1.0, -1.0]));
    let ids: Vec<_> = lines.iter().map(|line| line.group_id).collect();
    assert_eq!(ids, [Some(0), Some(1), Some(2)]);
    let Some(Score::Failed(reason)) = &lines[1].score else { panic!("the dropped one") };
    assert_eq!((reason.0.as_str(), lines[1].text.as_str()), ("no zygote for broken", "broken"));
    assert_eq!((lines[1].meta.get("end"), lines[1].meta.get("tokens")), (None, Some("6")));
    let Some(Score::Scored { outcome, advantage }) = &lines[2].score else { panic!("judged") };
    assert_eq!((outcome.reward.total(), *advantage), (0.5, Some(-1.0)));
    assert_eq!(lines[2].text, "half é\u{1F600}");
}

#[test]
fn what_was_written_is_read_back_token_for_token() {
    let mut group = group();
    // A server may send it apart.
    group.rollouts[0].turns[0].completion.reasoning = Some("It is easy.".to_owned());
    for advantages in [&[0.1 + 0.2, -1.0 / 3.0][..], &[]] {
        let written = lines(&group, &recording(advantages));
        let kept = [&group.rollouts[0].turns, &group.dropped[0].turns, &group.rollouts[1].turns];
        for (line, kept) in written.iter().zip(kept) {
            let read = parse(&line.to_line());
            assert_eq!(read, *line);
            let asked = kept.iter().map(|turn| Arc::clone(&turn.asked));
            let turns = turns(&read).unwrap().into_iter().zip(asked);
            let turns: Vec<Turn> = turns.map(|(read, asked)| turn(read, asked)).collect();
            assert_eq!(turns, *kept);
        }
    }
}

#[test]
fn an_episode_keeps_what_the_environment_said_before_each_reply() {
    let mut group = group();
    let asked = |line: &RolloutLine| line.meta.get("asked").map(str::to_owned);
    let written = lines(&group, &recording(&[]));
    let two = r#"[[{"role":"user","content":"x/1"}],[{"role":"user","content":"1 seen"}]]"#;
    assert_eq!([&written[0], &written[2]].map(asked), [None, Some(two.to_owned())]);
    let reward = group.rollouts[0].outcome.reward.clone();
    group.rollouts[0].outcome = Outcome::observed("guess", true, reward);
    let written = lines(&group, &recording(&[]));
    let one = r#"[[{"role":"user","content":"x/1"}]]"#;
    assert_eq!(
        asked(&written[0]),
        Some(one.to_owned()),
        "one turn of an environment that observes"
    );
}

#[test]
fn without_its_tokens_an_episode_still_has_its_replies_and_a_program_has_its_text() {
    let mut written = lines(&group(), &recording(&[]));
    written.iter_mut().for_each(remove_tokens);
    assert_eq!(written[0].meta.get("turns"), None);
    assert!(written.iter().all(|line| line.meta.get("tokenizer").is_none()));
    let kept = turns(&written[2]).unwrap();
    let texts: Vec<&str> = kept.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts, ["more", "half é\u{1F600}"]);
    assert!(kept.iter().all(|turn| turn.prompt.is_empty() && turn.ids.is_none()), "{kept:?}");
    assert!(written[2].meta.get("asked").is_some());
}

#[test]
fn a_reply_that_nobody_judged_keeps_the_thinking_that_its_server_sent_apart_and_has_no_score() {
    let (text, reasoning) = ("t".to_owned(), Some("because".to_owned()));
    let completion = Completion { text, reasoning, finish: Finish::Stop, tokens: None };
    let turn = Turn { prompt: [].into(), asked: [].into(), completion };
    let reply = UnjudgedReply { task: &task("a").id, sample: 2, turn: &turn };
    let mut line = unjudged_line(&reply, &recording(&[]));
    assert_eq!((line.meta.get("tokens"), &line.score, line.group_id), (None, &None, Some(2)));
    remove_tokens(&mut line);
    let kept = turns(&line).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].text.as_str(), kept[0].reasoning.as_deref()), ("t", Some("because")));
}

#[test]
fn a_rollout_that_never_began_has_a_line_without_turns() {
    let (stage, tasks) = (Stage::default(), [task("closed broken"), task("a")]);
    let says = |_: &str, _: usize| "pass".to_owned();
    let collected =
        collect(&collecting(&stage), &mut Player::new(&says), &asked(&tasks, 1)).unwrap();
    let [line] = &lines(&collected.groups[0], &recording(&[]))[..] else { panic!("one line") };
    let read = parse(&line.to_line());
    assert_eq!((read.text.as_str(), turns(&read).unwrap()), ("", Vec::<RecordedTurn>::new()));
    assert!(matches!(read.score, Some(Score::Failed(_))));
}

#[test]
fn turns_that_contradict_themselves_are_refused_and_a_line_from_elsewhere_has_none() {
    let line = |turn: &str| {
        parse(&format!(
            r#"{{"step":0,"prompt_id":"a","text":"t","meta":{{"turns":[{{"prompt":[1],"finish":"stop"{turn}}}]}}}}"#
        ))
    };
    let said = turns(&line("")).unwrap();
    assert_eq!((said[0].text.as_str(), &said[0].ids, &said[0].logps), ("t", &None, &None));
    let err = turns(&line(r#","ids":[1,2],"logps":[-0.5]"#)).unwrap_err();
    assert_eq!(err.to_string(), "field `turns`: 2 token ids but 1 log-probs");
    let err = turns(&line(r#","logps":[-0.5]"#)).unwrap_err();
    assert_eq!(err.to_string(), "field `turns`: 0 token ids but 1 log-probs");
    let without = turns(&line(r#","ids":[1]"#)).unwrap();
    assert_eq!((&without[0].ids, &without[0].logps), (&Some(vec![1]), &None));
    assert!(matches!(turns(&line(r#","more":1"#)), Err(WireError::Field { .. })));
    let elsewhere = parse(r#"{"step":0,"prompt_id":"a","text":"t"}"#);
    assert_eq!(turns(&elsewhere), Ok(Vec::new()));
}
