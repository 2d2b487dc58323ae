//! The names and small choices of one task: function, arguments, variables, loops or
//! comprehensions.

use super::input::Naming;
use super::kind::{Constant, letter};
use super::program::{Composition, Stage};
use super::value::Type;
use crate::random::Random;

/// The names of one task.
pub(super) struct TaskNames {
    pub(super) function: String,
    pub(super) naming: Naming,
    /// The name of the argument that is a lifted constant.
    pub(super) lifted: Option<&'static str>,
    number: &'static str,
    word: &'static str,
    character: &'static str,
    value: &'static str,
    /// Elements are handled in a loop, not in a comprehension.
    pub(super) loops: bool,
}

const VERBS: &[&str] = &["solve", "compute", "process", "handle", "work_on"];

impl TaskNames {
    pub(super) fn draw(program: &Composition, random: &mut Random) -> Self {
        let signed = program.stages.iter().any(|stage| stage.step.signed);
        let namings = program.input.namings().iter().filter(|naming| !(signed && naming.natural));
        let naming = **random.pick(&namings.collect::<Vec<_>>());
        let own = program.stages.last().map_or(VERBS, |stage| stage.step.verbs);
        let verbs = if random.chance(80) { own } else { VERBS };
        let verb = random.phrase(verbs);
        let noun = match program.input.to_type() {
            Type::Int if random.chance(60) => naming.one,
            Type::TwoInts | Type::TwoLists | Type::TwoTables => naming.many,
            Type::Ints | Type::Words | Type::Table if random.chance(50) => naming.many,
            _ => naming.arguments[0],
        };
        let function = format!("{verb}_{noun}");
        let lifted = program.lifted.map(|(at, place)| match program.stages[at].specs()[place] {
            Constant::Number(..) => random.phrase(&["k", "m", "t"]),
            Constant::Letter => random.phrase(&["letter", "mark"]),
        });
        let mut free = |names: &'static [&'static str]| {
            let free: Vec<_> =
                names.iter().filter(|name| !naming.arguments.contains(name)).collect();
            **random.pick(&free)
        };
        Self {
            function,
            lifted,
            number: free(&["n", "x", "num"]),
            word: free(&["word", "w"]),
            character: free(&["c", "ch"]),
            value: free(&["value", "n", "v"]),
            loops: random.chance(45),
            naming,
        }
    }

    /// All parameters, as in the head of the function.
    pub(super) fn parameters(&self) -> String {
        let names: Vec<&str> = self.naming.arguments.iter().copied().chain(self.lifted).collect();
        names.join(", ")
    }

    /// One element of a value of this type.
    pub(super) fn element(&self, of: Type) -> Option<&'static str> {
        match of {
            Type::Ints => Some(self.number),
            Type::Words => Some(self.word),
            Type::Text => Some(self.character),
            Type::Table => Some(self.value),
            _ => None,
        }
    }

    /// The constants of a stage as Python writes them, or in a statement, where a name is quoted.
    pub(super) fn constants(&self, program: &Composition, at: usize, quoted: bool) -> Vec<String> {
        let stage: &Stage = &program.stages[at];
        let specs = stage.specs().into_iter().enumerate();
        let write = |(place, spec): (usize, Constant)| match self.lifted {
            Some(name) if program.lifted == Some((at, place)) => {
                if quoted {
                    format!("`{name}`")
                } else {
                    name.to_owned()
                }
            }
            _ => match spec {
                Constant::Number(..) => stage.constants[place].to_string(),
                Constant::Letter => format!("\"{}\"", letter(stage.constants[place])),
            },
        };
        specs.map(write).collect()
    }
}

/// A template with each of these placeholders filled in, in this order.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = template.to_owned();
    for (key, value) in values {
        if text.contains(key) {
            text = text.replace(key, value);
        }
    }
    text
}

/// A template with `{a}` and `{b}` filled in.
pub(super) fn with_constants(template: &str, constants: &[String]) -> String {
    let get = |at: usize| constants.get(at).map_or("", String::as_str);
    fill(template, &[("{a}", get(0)), ("{b}", get(1))])
}
