//! The statement: the task in English.
//!
//! Steps are verb phrases ("^keep only the even numbers"), the last one is a noun phrase where it
//! has one ("the sum of the results"). A frame turns them into sentences. The meaning of words like
//! "the results" follows the steps: see [`Left`].

use super::kind::Left;
use super::names::{TaskNames, fill, with_constants};
use super::program::{Composition, ConstantOwner, Stage};
use super::value::Type;
use crate::random::Random;

/// The result of the steps so far, in words.
struct Talk {
    the: String,
    each: String,
    one: String,
    many: String,
    place: String,
    /// The arguments themselves.
    first: String,
    second: String,
}

/// The parts of a statement.
struct StatementParts {
    /// The steps before the last, as verb phrases with marks.
    clauses: Vec<String>,
    /// The returned value.
    returned: String,
}

/// The statement, without examples.
pub(super) fn statement(program: &Composition, names: &TaskNames, random: &mut Random) -> String {
    let said = say(program, names, random);
    let call = format!("`{}({})`", names.function, names.parameters());
    let input = input(program, names, random);
    let name = &names.function;
    let (short, long) = (sequence(&said), sentences(&said));
    // If a clause is long, each has a sentence of its own.
    let frame = match (said.clauses.is_empty(), said.is_winding()) {
        (true, _) => random.below(5),
        (false, true) => 5 + random.below(5),
        (false, false) => random.below(10),
    };
    match frame {
        0 => format!("Write a function {call} that takes {input}{}.", third(&said)),
        1 => format!("Given {input}, {short}. Name the function `{name}`."),
        2 => format!("{call} gets {input}. It should {short}."),
        3 => format!("Your function {call} receives {input} and must {short}."),
        4 => format!("Complete the function {call} for {input}: {short}."),
        5 => format!("Implement {call}. It takes {input}. {long}"),
        6 => format!("You are given {input}. {long} Call your function `{name}`."),
        7 => format!("Write {call} for {input}. {long}"),
        8 => format!("Define a function {call} that works on {input} as follows. {long}"),
        _ => format!("The function {call} takes {input}. {long}"),
    }
}

fn say(program: &Composition, names: &TaskNames, random: &mut Random) -> StatementParts {
    let mut talk = Talk::new(program, names);
    let mut clauses = Vec::new();
    let last = program.stages.len() - 1;
    for (at, stage) in program.stages.iter().enumerate() {
        let step = stage.step;
        let constants = names.constants(program, at, true);
        if at == last && !step.gives.is_empty() {
            let returned = talk.fill(random.phrase(step.gives), stage, &constants, random);
            return StatementParts { clauses, returned };
        }
        if step.does.is_empty() {
            let noun = talk.fill(random.phrase(step.gives), stage, &constants, random);
            clauses.push(format!("^{} {noun}", random.phrase(&["find", "determine"])));
        } else {
            clauses.push(talk.fill(random.phrase(step.does), stage, &constants, random));
        }
        talk.follow(stage);
    }
    let returned = match program.stages[last].step.to {
        Type::Ints | Type::Words => {
            random.phrase(&["the resulting list", "the new list", "the result as a list"])
        }
        Type::Table => random.phrase(&["the resulting dictionary", "the new dictionary"]),
        Type::Text => random.phrase(&["the resulting string", "the result"]),
        _ => "the result",
    };
    StatementParts { clauses, returned: returned.to_owned() }
}

impl StatementParts {
    /// Whether a clause has parts of its own that a list of clauses would blur.
    fn is_winding(&self) -> bool {
        let winds = |clause: &String| {
            clause.contains([':', '('])
                || clause.contains("otherwise")
                || clause.matches(',').count() > 1
        };
        self.clauses.iter().any(winds)
    }
}

impl Talk {
    fn new(program: &Composition, names: &TaskNames) -> Self {
        let naming = &names.naming;
        let quoted: Vec<String> = naming.arguments.iter().map(|name| format!("`{name}`")).collect();
        let all = quoted.join(" and ");
        let (the, each) = match program.input.to_type() {
            Type::Ints | Type::Words => {
                (format!("the {} in {all}", naming.many), format!("each {}", naming.one))
            }
            Type::Table => (all.clone(), "each value".to_owned()),
            _ => (all.clone(), all.clone()),
        };
        let [one, many] = [naming.one, naming.many].map(str::to_owned);
        let place = format!("in {all}");
        let first = quoted.first().cloned().unwrap_or_default();
        let second = quoted.get(1).cloned().unwrap_or_default();
        Self { the, each, one, many, place, first, second }
    }

    /// Updates the words for the result of a step.
    fn follow(&mut self, stage: &Stage) {
        "in the resulting list".clone_into(&mut self.place);
        match stage.step.left {
            Left::Remaining => {
                self.the = format!("the remaining {}", self.many);
                self.each = format!("each remaining {}", self.one);
            }
            Left::Same => {
                self.the = format!("the {}", self.many);
                self.each = format!("each {}", self.one);
            }
            Left::Results => self.become_many("results", "result"),
            Left::Many(many, one) => self.become_many(many, one),
            Left::One(name) => {
                name.clone_into(&mut self.the);
                let each = if stage.step.to == Type::Table { "each value" } else { name };
                each.clone_into(&mut self.each);
            }
        }
    }

    fn become_many(&mut self, many: &str, one: &str) {
        self.the = format!("the {many}");
        self.each = format!("each {one}");
        many.clone_into(&mut self.many);
        one.clone_into(&mut self.one);
    }

    /// A phrase of a step.
    fn fill(
        &self,
        template: &str,
        stage: &Stage,
        constants: &[String],
        random: &mut Random,
    ) -> String {
        let mut text = with_constants(template, stage.part(ConstantOwner::Step, constants));
        if let Some(test) = stage.test {
            let own = stage.part(ConstantOwner::Test, constants);
            let [is, are, noun] =
                [test.is, test.are, test.noun].map(|words| with_constants(words, own));
            let tests = noun.replace("{}", &self.many);
            text = fill(&text, &[("{tests}", &tests), ("{is}", &is), ("{are}", &are)]);
        }
        let keys =
            [("{change}", "{change!}", "{changex}"), ("{change2}", "{change2!}", "{change2x}")];
        for ((at, change), (plain, bare, code)) in stage.changes.iter().enumerate().zip(keys) {
            let own = stage.part(ConstantOwner::Change(at), constants);
            let object = if at == 0 { &self.each } else { "it" };
            let does = with_constants(random.phrase(change.does), own).replace("{x}", object);
            let python = with_constants(change.python, own).replace("{x}", "x").replace('`', "");
            let python = format!("`{python}`");
            text = fill(&text, &[(plain, &does), (bare, &does.replace('^', "")), (code, &python)]);
        }
        fill(
            &text,
            &[
                ("{the}", &self.the),
                ("{each}", &self.each),
                ("{noun}", &self.many),
                ("{one}", &self.one),
                ("{in}", &self.place),
                ("{v}", &self.first),
                ("{w}", &self.second),
            ],
        )
    }
}

/// The arguments, described.
fn input(program: &Composition, names: &TaskNames, random: &mut Random) -> String {
    let arguments = names.naming.arguments;
    let second = arguments.get(1).copied().unwrap_or("");
    let phrase =
        fill(random.phrase(names.naming.phrases), &[("{}", arguments[0]), ("{2}", second)]);
    let lifted = program.lifted.zip(names.lifted).map(|((at, place), name)| {
        match program.stages[at].specs()[place] {
            super::kind::Constant::Number(..) => format!(" and a positive integer `{name}`"),
            super::kind::Constant::Letter => format!(" and a letter `{name}`"),
        }
    });
    let together = phrase + lifted.as_deref().unwrap_or("");
    // With `a and b and k` a comma reads better.
    if arguments.len() == 2 { together.replacen("` and a ", "`, and a ", 1) } else { together }
}

/// "…, keeps the even ones, squares each and returns their sum".
fn third(said: &StatementParts) -> String {
    let mut text = String::new();
    for clause in &said.clauses {
        text = format!("{text}, {}", conjugated(clause));
    }
    let comma = if said.clauses.is_empty() { "" } else { "," };
    format!("{text}{comma} and returns {}", said.returned)
}

/// "keep the even ones, then square each and return their sum".
fn sequence(said: &StatementParts) -> String {
    let plain: Vec<String> = said.clauses.iter().map(|clause| clause.replace('^', "")).collect();
    match plain.as_slice() {
        [] => format!("return {}", said.returned),
        [only] => format!("{only}, and return {}", said.returned),
        [first, rest @ ..] => {
            format!("{first}, then {}, and return {}", rest.join(", then "), said.returned)
        }
    }
}

/// "First keep the even ones. Then square each. Return their sum."
fn sentences(said: &StatementParts) -> String {
    let mut text = String::new();
    for (at, clause) in said.clauses.iter().enumerate() {
        let plain = clause.replace('^', "");
        let sentence = match (at, said.clauses.len()) {
            (0, 1) => capitalised(&plain),
            (0, _) => format!("First, {plain}"),
            _ => format!("Then {plain}"),
        };
        text.push_str(&sentence);
        text.push_str(". ");
    }
    let last = if said.clauses.len() > 1 { "Finally, return" } else { "Return" };
    format!("{text}{last} {}.", said.returned)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A verb phrase with each marked verb in the third person.
fn conjugated(clause: &str) -> String {
    let mut parts = clause.split('^');
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (verb, rest) = part.split_once(' ').unwrap_or((part, ""));
        let stem = verb.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
        let ending =
            if verb.ends_with(['s', 'x', 'o']) || verb.ends_with("ch") { "es" } else { "s" };
        let verb = stem.map_or_else(|| format!("{verb}{ending}"), |stem| format!("{stem}ies"));
        text = format!("{text}{verb} {rest}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_put_in_the_third_person() {
        let all = "^keep a, ^multiply b, ^go c, ^replace d, ^do e and ^put f";
        assert_eq!(conjugated(all), "keeps a, multiplies b, goes c, replaces d, does e and puts f");
    }

    #[test]
    fn clauses_become_sentences() {
        let said = |clauses: &[&str]| StatementParts {
            clauses: clauses.iter().map(|&clause| clause.to_owned()).collect(),
            returned: "it".to_owned(),
        };
        assert_eq!(sequence(&said(&[])), "return it");
        assert_eq!(sequence(&said(&["^a", "^b"])), "a, then b, and return it");
        assert_eq!(sentences(&said(&["^a b"])), "A b. Return it.");
        assert_eq!(sentences(&said(&["^a", "^b"])), "First, a. Then b. Finally, return it.");
        assert_eq!(third(&said(&["^a b", "^c d"])), ", as b, cs d, and returns it");
    }
}
