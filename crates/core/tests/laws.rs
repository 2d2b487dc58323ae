//! What holds of every reply: the format reads back as it was written, a reply that breaks off
//! gives part of what it would have given, nothing panics, and the time is linear.

use proptest::prelude::*;
use whetstone_core::extract::{Cause, Form, Origin, Reply, Response, extract};
use whetstone_core::verdict::Verdict;

const FORMS: [Form; 2] = [Form::ThinkPython, Form::PlanJavascript];

/// Pieces that replies are made of, the awkward ones more often than in life.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("<think>".to_owned()),
        Just("</think>".to_owned()),
        Just("[PLAN]".to_owned()),
        Just("[/PLAN]".to_owned()),
        Just("```".to_owned()),
        Just("```python".to_owned()),
        Just("```\npython\n".to_owned()),
        Just("~~~".to_owned()),
        Just("`".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("    ".to_owned()),
        Just("x = 1".to_owned()),
        "\\PC{0,8}",
        any::<char>().prop_map(String::from),
    ]
}

fn reply() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_is_read_back(thinking in reply(), code in reply()) {
        for form in FORMS {
            let Ok(response) = Response::new(form, &thinking, &code) else { continue };
            let text = response.render();
            let found = extract(Reply::text(&text), form);
            let thought = if form == Form::ThinkPython { found.thinking } else { found.plan };
            prop_assert_eq!(thought.as_deref(), Some(response.thinking()));
            let read = found.code.expect("the code");
            prop_assert_eq!(read.source, response.code());
            prop_assert_eq!(read.origin, Origin::Tagged);
            prop_assert!(!found.unclosed);
        }
    }

    #[test]
    fn what_is_found_stands_in_the_reply(text in reply(), opened: bool) {
        for form in FORMS {
            let found = extract(Reply { opened, ..Reply::text(&text) }, form);
            if let Some(code) = found.code {
                prop_assert!(!code.source.trim().is_empty());
                let line = code.source.lines().find(|line| !line.trim().is_empty()).expect("a line");
                prop_assert!(text.contains(line.trim()), "{:?} in {:?}", line, text);
            }
            prop_assert!(found.plan.is_none() || form == Form::PlanJavascript);
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        for form in FORMS {
            let twice = [0, 1].map(|_| extract(Reply::text(&text), form));
            prop_assert_eq!(&twice[0], &twice[1]);
        }
    }
}

const THINKING: &str = "Walk the list once.\n1. keep the largest\n2. return it";
const CODE: &str = "def largest(xs):\n    best = xs[0]\n    for x in xs:\n        best = max(best, x)\n    return best";

#[test]
fn a_reply_broken_off_anywhere_gives_part_of_what_was_coming() {
    let whole = Response::new(Form::ThinkPython, THINKING, CODE).unwrap().render();
    let close = whole.find("</think>").unwrap() + "</think>".len();
    let fence_end = whole.rfind("```").unwrap() + 3;
    for cut in 0..=whole.len() {
        let found = extract(Reply::text(&whole[..cut]), Form::ThinkPython);
        let thinking = found.thinking.unwrap_or_default();
        assert!(THINKING.starts_with(thinking.as_ref()), "cut at {cut}: {thinking:?}");
        assert_eq!(found.unclosed, (7..close).contains(&cut), "cut at {cut}");
        match found.code {
            None => assert!(cut < whole.find("def").unwrap() + 1, "cut at {cut}: no code"),
            Some(code) => {
                assert!(CODE.starts_with(code.source.as_ref()), "cut at {cut}: {code:?}");
                assert_eq!(code.is_truncated(), cut < fence_end, "cut at {cut}");
            }
        }
    }
}

/// The costly texts, by what they repeat.
const REPEATED: [&str; 19] = [
    "`",
    "~",
    "```\n",
    "```python\n",
    "```\npython\n",
    "~~~\n",
    "<think>",
    "</think>",
    "x<think>\n",
    "x</think>",
    "<",
    "[PLAN]\n",
    "'</think>'",
    " ```python",
    "```python x```\n",
    "> ```\r",
    "\t",
    "<think>a</think>",
    "[PLAN]a[/PLAN]",
];

/// A pass that looked at every byte for every byte would not end within the test's time limit; the
/// benchmark `extract` measures the growth.
#[test]
fn a_megabyte_of_anything_take_one_pass() {
    for piece in REPEATED {
        let text = piece.repeat((1 << 20) / piece.len());
        for form in FORMS {
            let found = extract(Reply::text(&text), form);
            assert!(found.code.is_none_or(|code| code.source.len() <= text.len()), "{piece:?}");
        }
        let thought = format!("<think>{text}</think>");
        for reply in [&text, &thought] {
            assert!(Cause::of(&Verdict::NoCode, Reply::text(reply), None).is_some(), "{piece:?}");
        }
    }
}

/// Texts in which one long run of blanks is met again at every tag behind or before it.
#[test]
fn a_long_run_of_blanks_beside_many_tags_is_read_once() {
    let half = 1 << 19;
    let blanks = " ".repeat(half);
    let tags = |piece: &str| piece.repeat(half / piece.len());
    let texts = [
        format!("</think>{blanks}{}", tags("</think>")),
        format!("{blanks}{}", tags("x<think>")),
        format!("{}{blanks}", tags("<think></think>```x`")),
        format!("{}{}", tags("<think></think>"), "\r".repeat(half)),
        format!("{}{blanks}", tags("<think></think>")),
    ];
    for text in texts {
        for form in FORMS {
            assert_eq!(extract(Reply::text(&text), form).code, None);
        }
    }
}
