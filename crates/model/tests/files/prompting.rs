//! Which prompt a model gets, and what its chat template makes of it.

use std::fs;

use whetstone_core::Message;
use whetstone_core::config::{PromptConfig, ThinkingMode};
use whetstone_model::ChatTemplate;
use whetstone_model::prompting::{PROMPT_FILE, chat_template, recorded, recording, settle};
use whetstone_model::template::Options;
use whetstone_model::tokenizer::Specials;

const QWEN3: &str = include_str!("../testdata/qwen3.jinja");
const QWEN2_5: &str = include_str!("../testdata/qwen2_5.jinja");

/// A family's way of laying out messages, written for this test.
const LLAMA3: &str = "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n\
    {{ m.content }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}\
    <|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}";
/// It knows no system message.
const GEMMA: &str = "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}\
    {{ raise_exception('no system role') }}{% endif %}<start_of_turn>\
    {{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}\
    {% if add_generation_prompt %}<start_of_turn>model\n{% endif %}";
/// It marks no turn of the model.
const MISTRAL: &str = "{{ bos_token }}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\
    {{ raise_exception('roles must alternate') }}{% endif %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]\
    {% else %}{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}";
/// It opens the thinking, whatever it is told.
const ALWAYS_THINKS: &str =
    "{% for m in messages %}{{ m.content }}\n{% endfor %}assistant\n<think>\n";

#[expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
fn chat(source: &str) -> ChatTemplate {
    let specials = Specials {
        bos: Some("<s>".to_owned()),
        eos: Some("</s>".to_owned()),
        ..Specials::default()
    };
    ChatTemplate::new(source, &specials, "m/chat_template.jinja".as_ref()).unwrap()
}

fn asked(template: &str, thinking: ThinkingMode) -> PromptConfig {
    PromptConfig { template: template.to_owned(), thinking, ..PromptConfig::default() }
}

/// What a model with this chat template reads by these settings.
#[expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
fn read(source: &str, asked: &PromptConfig, messages: &[Message]) -> String {
    let own = chat(source);
    let settled = settle(asked, None, Some(&own));
    let template = chat_template(Some(own), &settled).unwrap().unwrap();
    template.render(messages, &Options::prompt()).unwrap()
}

#[test]
fn a_model_that_can_think_thinks_natively_and_any_other_answers_at_once() {
    let settled = |source| {
        let settled = settle(&PromptConfig::default(), None, Some(&chat(source)));
        (settled.template, settled.thinking)
    };
    for source in [QWEN3, ALWAYS_THINKS] {
        assert_eq!(settled(source), ("plain".to_owned(), ThinkingMode::Native));
    }
    for source in [QWEN2_5, LLAMA3, GEMMA, MISTRAL] {
        assert_eq!(settled(source), ("plain".to_owned(), ThinkingMode::Off));
    }
    let settled = settle(&PromptConfig::default(), None, None);
    assert_eq!((settled.template.as_str(), settled.thinking), ("plain", ThinkingMode::Off));
}

#[test]
fn what_is_asked_for_comes_before_what_the_model_can() {
    let own = chat(QWEN3);
    let settled = |asked: &PromptConfig| {
        let settled = settle(asked, None, Some(&own));
        (settled.template, settled.thinking)
    };
    let tags = ("unified".to_owned(), ThinkingMode::Tags);
    assert_eq!(settled(&asked("auto", ThinkingMode::Tags)), tags);
    assert_eq!(settled(&asked("unified", ThinkingMode::Auto)), tags);
    let off = ("plain".to_owned(), ThinkingMode::Off);
    assert_eq!(settled(&asked("auto", ThinkingMode::Off)), off);
    let native = ("evalplus".to_owned(), ThinkingMode::Native);
    assert_eq!(settled(&asked("evalplus", ThinkingMode::Auto)), native);
}

#[test]
fn qwen3_thinks_natively_or_is_told_not_to() {
    let messages = [Message::user("hi")];
    let read = |thinking| read(QWEN3, &asked("auto", thinking), &messages);
    let prompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(read(ThinkingMode::Auto), prompt);
    assert_eq!(read(ThinkingMode::Native), prompt);
    assert_eq!(read(ThinkingMode::Off), format!("{prompt}<think>\n\n</think>\n\n"));
    assert_eq!(read(ThinkingMode::Tags), prompt, "as the template has it by itself");
}

#[test]
fn a_begun_answer_is_continued_in_every_family() {
    let messages = [Message::user("hi"), Message::assistant("```python\n")];
    let plain = PromptConfig::default();
    let families = [
        (
            LLAMA3,
            "<s><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        (GEMMA, "<s><start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n"),
        (MISTRAL, "<s>[INST] hi [/INST]"),
        (QWEN3, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"),
    ];
    for (source, prompt) in families {
        assert_eq!(read(source, &plain, &messages[..1]), prompt);
        assert_eq!(read(source, &plain, &messages), format!("{prompt}```python\n"));
    }
    let whole = chat(LLAMA3).render(&messages, &Options::conversation()).unwrap();
    assert!(
        whole.ends_with("```python\n<|eot_id|>"),
        "a conversation that is over is not begun: {whole}"
    );
}

#[test]
fn a_completion_has_no_chat_template_around_it() {
    let messages = [Message::assistant("def f(x):\n")];
    assert_eq!(read(QWEN3, &asked("completion", ThinkingMode::Auto), &messages), "def f(x):\n");
}

#[test]
fn a_model_that_was_trained_is_asked_as_in_its_training() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(recorded(dir.path()).unwrap(), None);
    let trained = PromptConfig { system: "S".to_owned(), ..asked("unified", ThinkingMode::Tags) };
    let file = dir.path().join(PROMPT_FILE);
    fs::write(&file, recording(&trained)).unwrap();
    let found = recorded(dir.path()).unwrap();
    assert_eq!(found.as_ref(), Some(&trained));
    let own = chat(QWEN2_5);
    let settled = settle(&PromptConfig::default(), found.as_ref(), Some(&own));
    assert_eq!(settled, trained);
    let other = asked("mbpp", ThinkingMode::Auto);
    assert_eq!(settle(&other, found.as_ref(), Some(&own)).template, "mbpp");
    let with_system = PromptConfig { system: "T".to_owned(), ..PromptConfig::default() };
    assert_eq!(settle(&with_system, found.as_ref(), Some(&own)).system, "T");
}

#[test]
fn a_file_that_is_no_prompt_is_refused_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(PROMPT_FILE);
    for text in
        ["", "[]", r#"{"template":"plian"}"#, r#"{"temperature":1}"#, r#"{"template":"{{ x"}"#]
    {
        fs::write(&file, text).unwrap();
        let err = recorded(dir.path()).unwrap_err().to_string();
        assert!(err.contains(PROMPT_FILE) && err.contains("prompt.template"), "{text}: {err}");
    }
    fs::write(&file, " ".repeat(1 << 19)).unwrap();
    assert!(recorded(dir.path()).is_err(), "larger than any prompt");
}
