//! The list as it is written: one rule a line.

use super::names::number;

/// The action for a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilterAction {
    /// It goes through.
    Allow,
    /// It fails with this error.
    Errno(u16),
    /// The process dies.
    Kill,
}

/// A condition of a rule on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
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
pub struct SyscallRule {
    /// The call's name.
    pub name: String,
    /// Its number here; `None` if this architecture does not have it.
    pub number: Option<u32>,
    /// The action if all conditions hold.
    pub verdict: FilterAction,
    /// When; none means always.
    pub conditions: Vec<Condition>,
    /// Under which root it holds; `None` means under each.
    pub root: Option<Root>,
}

/// The root that a program sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// Its own, with nothing in it but its interpreter.
    Private,
    /// The machine's.
    Shared,
}

/// The whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyscallRules(pub Vec<SyscallRule>);

/// A problem in a list of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct RuleError {
    /// The line, counted from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// EPERM: what a call that is not listed fails with.
pub(super) const REFUSED: FilterAction = FilterAction::Errno(1);

impl SyscallRules {
    /// Reads a list.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let mut rules: Vec<SyscallRule> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            let fail = |problem: String| RuleError { line: line_number, problem };
            let code = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = code.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let rule = rule(&words).map_err(fail)?;
            // Behind a rule that always holds, another decides nothing.
            let hides = |earlier: &SyscallRule| {
                earlier.name == rule.name
                    && (earlier.root.is_none() || rule.root.is_none() || earlier.root == rule.root)
                    && (earlier.conditions.is_empty() || earlier.conditions == rule.conditions)
            };
            if rules.iter().any(hides) {
                return Err(fail(format!("`{}` stands twice", rule.name)));
            }
            rules.push(rule);
        }
        Ok(Self(rules))
    }

    /// The rules that hold for a program that sees this root.
    #[must_use]
    pub fn under(&self, root: Root) -> Self {
        let holds = |rule: &&SyscallRule| rule.root.is_none_or(|one| one == root);
        Self(self.0.iter().filter(holds).cloned().collect())
    }
}

fn rule(words: &[&str]) -> Result<SyscallRule, String> {
    let (verdict, name, conditions) = match words {
        ["private", rest @ ..] => {
            return Ok(SyscallRule { root: Some(Root::Private), ..rule(rest)? });
        }
        ["shared", rest @ ..] => {
            return Ok(SyscallRule { root: Some(Root::Shared), ..rule(rest)? });
        }
        ["allow", name, conditions @ ..] => (FilterAction::Allow, name, conditions),
        ["errno", error, name, conditions @ ..] => {
            let error = error.parse().map_err(|_| format!("`{error}` is no error number"))?;
            (FilterAction::Errno(error), name, conditions)
        }
        _ => return Err(format!("`{}` is no rule", words.join(" "))),
    };
    let name = (*name).to_owned();
    Ok(SyscallRule {
        number: known(&name)?,
        name,
        verdict,
        conditions: read_conditions(conditions)?,
        root: None,
    })
}

fn known(name: &str) -> Result<Option<u32>, String> {
    number(name).ok_or_else(|| format!("`{name}` is no system call that we know"))
}

/// Each condition begins with the argument that it is about.
fn read_conditions(words: &[&str]) -> Result<Vec<Condition>, String> {
    let mut conditions = Vec::new();
    let mut rest = words;
    while let [_, after @ ..] = rest {
        let next = after.iter().position(|word| word.starts_with("arg"));
        let (one, others) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        conditions.push(read_condition(one)?);
        rest = others;
    }
    Ok(conditions)
}

fn read_condition(words: &[&str]) -> Result<Condition, String> {
    let [argument, rest @ ..] = words else { return Err("no condition".to_owned()) };
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
