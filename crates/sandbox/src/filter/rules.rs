//! The list as it is written: one rule a line.

use super::names::number;

/// What becomes of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It goes through.
    Allow,
    /// It fails with this error.
    Errno(u16),
    /// The process dies.
    Kill,
}

/// When an allowed call goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    Always,
    /// If the low 32 bits of an argument are one of these.
    In(u8, Vec<u32>),
    /// If all these bits of an argument are set.
    Has(u8, u32),
    /// If an argument is the process's own id.
    OwnPid(u8),
    /// If an argument is 0 as a whole.
    Null(u8),
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The call's name.
    pub name: String,
    /// Its number here; `None` if this architecture does not have it.
    pub number: Option<u32>,
    /// What becomes of it if the condition holds.
    pub verdict: Verdict,
    /// When.
    pub condition: Condition,
}

/// The whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules(pub Vec<Rule>);

/// What is wrong with a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct RuleError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// EPERM: what a call that is not listed fails with.
pub(super) const REFUSED: Verdict = Verdict::Errno(1);

impl Rules {
    /// Reads a list.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let mut rules: Vec<Rule> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            let fail = |problem: String| RuleError { line: line_number, problem };
            let code = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = code.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let rule = rule(&words).map_err(fail)?;
            if rules.iter().any(|earlier| earlier.name == rule.name) {
                return Err(fail(format!("`{}` stands twice", rule.name)));
            }
            rules.push(rule);
        }
        Ok(Self(rules))
    }
}

fn rule(words: &[&str]) -> Result<Rule, String> {
    match words {
        ["allow", name, condition @ ..] => {
            let condition = read_condition(condition)?;
            Ok(Rule {
                name: (*name).to_owned(),
                number: known(name)?,
                verdict: Verdict::Allow,
                condition,
            })
        }
        ["errno", error, name] => {
            let error = error.parse().map_err(|_| format!("`{error}` is no error number"))?;
            let verdict = Verdict::Errno(error);
            let condition = Condition::Always;
            Ok(Rule { name: (*name).to_owned(), number: known(name)?, verdict, condition })
        }
        _ => Err(format!("`{}` is no rule", words.join(" "))),
    }
}

fn known(name: &str) -> Result<Option<u32>, String> {
    number(name).ok_or_else(|| format!("`{name}` is no system call that we know"))
}

fn read_condition(words: &[&str]) -> Result<Condition, String> {
    let [argument, rest @ ..] = words else { return Ok(Condition::Always) };
    let index = argument
        .strip_prefix("arg")
        .and_then(|digits| digits.parse().ok())
        .filter(|&index: &u8| index < 6)
        .ok_or_else(|| format!("`{argument}` is none of arg0 to arg5"))?;
    match rest {
        ["in", values @ ..] if !values.is_empty() => {
            let values = values.iter().map(|value| read_number(value)).collect::<Result<_, _>>()?;
            Ok(Condition::In(index, values))
        }
        ["has", bits] => Ok(Condition::Has(index, read_number(bits)?)),
        ["self"] => Ok(Condition::OwnPid(index)),
        ["null"] => Ok(Condition::Null(index)),
        _ => Err(format!("`{}` is no condition", words.join(" "))),
    }
}

fn read_number(word: &str) -> Result<u32, String> {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| format!("`{word}` is no 32-bit number"))
}
