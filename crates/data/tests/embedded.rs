//! Embedded tasks: deterministic, distinct, readable, and short enough for a small student.
//!
//! With `--nocapture` the tests print what they measured, and twenty statements to read aloud.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::LazyLock;

use whetstone_core::extract::{Form, Reply, extract};
use whetstone_core::tests::{Call, Tests};
use whetstone_core::wire::Wire;
use whetstone_core::{Seed, Task};
use whetstone_data::embedded::{Generator, Made, generate};
use whetstone_data::part::Partition;

const COUNT: usize = 5000;

/// The tasks of seed 42, made once.
static MADE: LazyLock<Vec<Made>> = LazyLock::new(|| generate(Seed::new(42), COUNT));

fn lines(made: &[Made]) -> String {
    made.iter().map(|made| made.task.to_line() + "\n").collect()
}

fn field(task: &Task, name: &str) -> String {
    serde_json::from_str(task.rest.get(name).expect(name)).expect("a string")
}

fn calls(task: &Task) -> (&[Call], &[Call]) {
    let Tests::Calls { suite, .. } = &task.tests else { panic!("{task:?}") };
    (suite.visible.as_slice(), suite.hidden.for_the_judge())
}

fn arguments(call: &Call) -> Vec<&str> {
    call.args.iter().map(|arg| arg.get()).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let some = lines(&generate(Seed::new(7), 300));
    assert_eq!(some, lines(&generate(Seed::new(7), 300)));
    assert!(some.starts_with(&lines(&generate(Seed::new(7), 100))), "a prefix of the same stream");
    let other = generate(Seed::new(8), 300);
    let known: HashSet<String> =
        generate(Seed::new(7), 300).into_iter().map(|made| made.task.statement).collect();
    let shared = other.iter().filter(|made| known.contains(&made.task.statement)).count();
    assert!(shared < 10, "{shared} statements of 300 are the same");
}

#[test]
fn four_fifths_are_for_training() {
    for count in 0..30 {
        let made = generate(Seed::new(3), count);
        let train = made.iter().filter(|made| made.part == Partition::Train).count();
        assert_eq!((made.len(), train), (count, (count * 8 + 5) / 10), "of {count}");
    }
}

#[test]
fn a_task_comes_back_as_it_was_written() {
    let mut ids = HashSet::new();
    for made in generate(Seed::new(u64::MAX), 200) {
        let line = made.task.to_line();
        let again = Task::from_object(serde_json::from_str(&line).unwrap()).unwrap();
        assert_eq!(again.to_line(), line);
        assert!(ids.insert(made.task.id.clone()), "{} twice", made.task.id);
        assert_eq!(made.task.source.as_deref(), Some("embedded"));
    }
}

#[test]
fn the_trace_is_the_reference_with_a_few_sentences_before_it() {
    for Made { task, .. } in MADE.iter() {
        let trace = field(task, "trace");
        let found = extract(Reply::text(&trace), Form::ThinkPython);
        let code = found.code.expect("code").source;
        assert_eq!(Some(code.as_ref()), task.reference.as_deref(), "{}", task.id);
        let thinking = found.thinking.expect("thinking").into_owned();
        let sentences = thinking.split(". ").count();
        assert!((1..=5).contains(&sentences), "{}: {thinking}", task.id);
        assert!(!thinking.contains("{x}") && !thinking.contains("{v}"), "{}: {thinking}", task.id);
    }
}

#[test]
fn hidden_tests_ask_something_else_than_visible_ones_and_have_no_one_answer() {
    for Made { task, .. } in MADE.iter() {
        let (visible, hidden) = calls(task);
        assert!((2..=3).contains(&visible.len()) && (5..=8).contains(&hidden.len()), "{}", task.id);
        let asked: Vec<_> = visible.iter().chain(hidden).map(arguments).collect();
        let different: HashSet<_> = asked.iter().collect();
        assert_eq!(different.len(), asked.len(), "{}: a question twice", task.id);
        let answers: HashSet<&str> = hidden.iter().map(|call| call.expected.get()).collect();
        assert!(answers.len() > 1, "{}: one answer for all", task.id);
        let given = |call: &Call| call.args[0].get() == call.expected.get();
        assert!(!hidden.iter().all(given), "{}: the first argument is the answer", task.id);
    }
}

#[test]
fn statements_are_complete_sentences_that_name_the_function() {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for Made { task, .. } in MADE.iter() {
        let text = &task.statement;
        let name = task.tests.entry_point().unwrap();
        assert!(text.contains(&format!("`{name}")), "{text}");
        assert!(
            text.ends_with('.') && text.starts_with(|c: char| c.is_uppercase() || c == '`'),
            "{text}"
        );
        for wrong in ["^", "  ", "{a}", "{b}", "{x}", "{the}", "{one}", "..", " ,", "{}."] {
            assert!(!text.contains(wrong), "`{wrong}` in {text}");
        }
        assert_eq!(text.matches('`').count() % 2, 0, "{text}");
        shown.insert(field(task, "family"), text.clone());
    }
    assert!(shown.len() >= 24, "{} families", shown.len());
    for (family, text) in shown.iter().step_by(2).chain(shown.iter().skip(1).step_by(37)).take(20) {
        println!("[{family}] {text}");
    }
}

#[test]
fn fewer_than_one_in_a_hundred_is_nearly_another() {
    let all = &*MADE;
    let shingles: Vec<BTreeSet<Vec<&str>>> = all
        .iter()
        .map(|made| {
            let words: Vec<&str> = made.task.statement.split_whitespace().collect();
            words.windows(5).map(<[&str]>::to_vec).collect()
        })
        .collect();
    let mut places: HashMap<&Vec<&str>, Vec<usize>> = HashMap::new();
    let mut near = 0;
    for (at, own) in shingles.iter().enumerate() {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for shingle in own {
            let earlier = places.entry(shingle).or_default();
            for &other in earlier.iter() {
                *shared.entry(other).or_default() += 1;
            }
            earlier.push(at);
        }
        // Jaccard of at least 0.8, in whole numbers.
        let is_near = |(&other, &both): (&usize, &usize)| {
            10 * both >= 8 * (own.len() + shingles[other].len() - both)
        };
        near += usize::from(shared.iter().any(is_near));
    }
    println!("{near} of {} are nearly an earlier one", all.len());
    assert!(near * 100 < all.len(), "{near}");
}

#[test]
fn families_and_difficulties_are_spread() {
    let mut generator = Generator::new(Seed::new(42));
    let (mut families, mut grades) = (BTreeMap::new(), BTreeMap::new());
    for Made { task, .. } in generator.by_ref().take(COUNT) {
        *families.entry(field(&task, "family")).or_insert(0) += 1;
        *grades.entry(task.difficulty.unwrap()).or_insert(0) += 1;
    }
    println!("{families:?}\n{grades:?}\ndiscarded: {:?}", generator.discarded());
    assert!(families.len() >= 24, "{families:?}");
    assert!(families.values().all(|&count| (20..=500).contains(&count)), "{families:?}");
    assert_eq!(grades.keys().collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    assert!(grades.values().all(|&count| count >= 100), "{grades:?}");
}

/// Tokens of a text when the longest entry of the vocabulary is taken again and again: close to
/// what merges give, and never a dependency.
fn tokens(text: &str, vocabulary: &HashSet<String>) -> usize {
    let text: Vec<char> = text.replace(' ', "Ġ").replace('\n', "Ċ").chars().collect();
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        let longest = (1..=(text.len() - at).min(16)).rev();
        let mut fits = longest.filter(|&length| {
            vocabulary.contains(&text[at..at + length].iter().collect::<String>())
        });
        at += fits.next().unwrap_or(1);
        count += 1;
    }
    count
}

#[test]
fn most_statements_with_their_trace_fit_into_256_tokens_of_a_small_vocabulary() {
    let path = "../../../shared/data/tokenizers/minimind2/tokenizer.json";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    let Ok(text) = std::fs::read_to_string(path) else {
        return println!("SKIPPED: the small tokenizer is not beside the repository");
    };
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let vocabulary: HashSet<String> =
        file["model"]["vocab"].as_object().unwrap().keys().cloned().collect();
    let all = &MADE[..1000];
    let length = |made: &Made| {
        tokens(&made.task.statement, &vocabulary) + tokens(&field(&made.task, "trace"), &vocabulary)
    };
    let fit = all.iter().filter(|made| length(made) <= 256).count();
    println!("{fit} of {} fit", all.len());
    assert!(fit * 100 >= all.len() * 85, "{fit}");
}
