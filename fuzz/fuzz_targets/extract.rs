//! Any bytes as a reply: nothing panics, what is found stands in the reply, a response made of what was
//! found reads back the same, and a reply without code has a cause.

#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_core::extract::{Cause, Form, Reply, Response, extract};
use whetstone_core::verdict::Verdict;

fuzz_target!(|bytes: &[u8]| {
    let Some((&options, bytes)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let form = if options & 1 == 0 { Form::ThinkPython } else { Form::PlanJavascript };
    let reply = Reply::text(&text).after(options & 2 != 0);
    let found = extract(reply, form);
    let Some(code) = found.code else {
        assert!(Cause::of(&Verdict::NoCode, reply, None).is_some());
        return;
    };
    let _ = Cause::of(&Verdict::SyntaxError, reply, None);
    assert!(!code.source.trim().is_empty());
    assert!(code.source.len() <= text.len());
    let thinking = found.thinking.unwrap_or_default();
    let Ok(response) = Response::new(form, &thinking, &code.source) else { return };
    let rendered = response.render();
    let again = extract(Reply::text(&rendered), form);
    assert_eq!(again.code.expect("the code").source, response.code());
});
