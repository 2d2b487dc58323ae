//! Conversations rendered as transformers renders them, byte for byte.
//!
//! `make_golden.py` wrote the expectations with jinja2; each template is beside it as the hub has it.

use serde::Deserialize;
use serde_json::{Value, json};
use whetstone_core::Message;
use whetstone_model::ChatTemplate;
use whetstone_model::template::{Options, TemplateError};
use whetstone_model::tokenizer::Specials;

#[derive(Deserialize)]
struct Golden {
    conversations: Vec<Conversation>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Conversation {
    messages: Vec<Value>,
    tools: Vec<Value>,
}

#[derive(Deserialize)]
struct Case {
    model: String,
    conversation: usize,
    prompt: bool,
    thinking: Option<bool>,
    text: String,
}

fn template(source: &str) -> Result<ChatTemplate, TemplateError> {
    let specials = Specials { eos: Some("</s>".to_owned()), ..Specials::default() };
    ChatTemplate::new(source, &specials, "m/chat_template.jinja".as_ref())
}

fn render(source: &str) -> Result<String, String> {
    let messages = [Message::user("hi")];
    let rendered =
        template(source).and_then(|template| template.render(&messages, &Options::prompt()));
    rendered.map_err(|err| err.to_string())
}

#[test]
fn whether_a_prompt_ends_inside_the_thinking_is_seen_of_the_template() {
    let opens = |source: &str| template(source).unwrap().opens_thinking();
    let ending = |end: &str| {
        format!("{{% for m in messages %}}{{{{ m.content }}}}{{% endfor %}}{{{{ {end:?} }}}}")
    };
    assert!(opens(&ending("assistant\n<think>\n")) && opens(&ending("<think>")));
    assert!(!opens(&ending("assistant\n")) && !opens(&ending("<think>\n\n</think>\n\n")));
    assert!(!opens(include_str!("../testdata/qwen3.jinja")));
    assert!(!opens("{{ raise_exception('no') }}"), "what refuses opens nothing");
}

#[test]
fn every_case_is_the_text_that_transformers_writes() {
    let golden: Golden = serde_json::from_str(include_str!("../testdata/templates.json")).unwrap();
    for (model, source, count) in [
        ("qwen3", include_str!("../testdata/qwen3.jinja"), 36),
        ("qwen2_5", include_str!("../testdata/qwen2_5.jinja"), 12),
        ("smollm2", include_str!("../testdata/smollm2.jinja"), 8),
    ] {
        let template = template(source).unwrap();
        let cases: Vec<_> = golden.cases.iter().filter(|case| case.model == model).collect();
        assert_eq!(cases.len(), count, "{model}");
        for case in cases {
            let Conversation { messages, tools } = &golden.conversations[case.conversation];
            let options = Options {
                add_generation_prompt: case.prompt,
                enable_thinking: case.thinking,
                tools: tools.clone(),
                ..Options::default()
            };
            let text = template.render(messages, &options).unwrap();
            let (at, thinking) = (case.conversation, case.thinking);
            assert_eq!(text, case.text, "{model}, conversation {at}, thinking {thinking:?}");
        }
    }
}

#[test]
fn thinking_switched_off_is_an_empty_thought() {
    let template = template(include_str!("../testdata/qwen3.jinja")).unwrap();
    let render = |thinking| {
        let options = Options { enable_thinking: thinking, ..Options::prompt() };
        template.render(&[Message::user("hi")], &options).unwrap()
    };
    let prompt = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(render(None), prompt);
    assert_eq!(render(Some(true)), prompt);
    assert_eq!(render(Some(false)), format!("{prompt}<think>\n\n</think>\n\n"));
}

#[test]
fn a_template_sees_its_tokens_and_what_else_it_is_told() {
    let template = template("{{ messages[0].role }}{{ eos_token }}{{ bos_token }}{{ x }}").unwrap();
    let mut options = Options::conversation();
    options.extra.insert("x".to_owned(), json!(3));
    options.extra.insert("messages_of_yesterday".to_owned(), Value::Null);
    assert_eq!(template.render(&[Message::user("hi")], &options).unwrap(), "user</s>3");
}

#[test]
fn blocks_are_trimmed_and_the_last_newline_goes() {
    let source = "  {% if true %}\n a\n  {% endif %}\nb{% generation %}\nc{% endgeneration %}\n";
    assert_eq!(render(source).unwrap(), " a\nbc");
    assert_eq!(render("{{ 'a<b'.upper() }}{{ ' x '.strip() }}").unwrap(), "A<Bx");
    assert_eq!(
        render(
            "{% for i in range(3) %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}"
        )
        .unwrap(),
        "02"
    );
}

#[test]
fn a_template_may_refuse_and_must_end() {
    let err = render("{{ raise_exception('roles must alternate') }}").unwrap_err();
    assert_eq!(
        err,
        "the chat template of `m/chat_template.jinja` refuses the conversation: roles must \
         alternate"
    );
    let nested = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    let err = render(nested).unwrap_err();
    assert!(err.contains("failed on a conversation") && err.contains("fuel"), "{err}");
    let err = render("{% if %}").unwrap_err();
    assert!(err.contains("cannot be used: syntax error"), "{err}");
    let err = render("{{ strftime_now('%d') }}").unwrap_err();
    assert!(err.contains("strftime_now"), "{err}");
    let fixed = "{% if strftime_now is defined %}now{% else %}then{% endif %}";
    assert_eq!(render(fixed).unwrap(), "then");
    let err = render(&"x".repeat(2 << 20)).unwrap_err();
    assert!(err.contains("longer than 1048576 bytes"), "{err}");
}
