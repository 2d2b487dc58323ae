//! The reference: the composition as a person writes it in Python.
//!
//! Consecutive filters and changes of elements become one comprehension or one loop, together with
//! the sum that may follow. Every other step is one statement or block; the last expression is
//! returned.

use super::kind::Code;
use super::names::{TaskNames, fill, with_constants};
use super::program::{Composition, ConstantOwner, Stage};
use crate::random::Random;

/// A program, and the names that it gives to what each of its steps takes.
pub(super) struct WrittenCode {
    pub(super) source: String,
    pub(super) taken: Vec<String>,
}

/// The reference.
pub(super) fn reference(
    program: &Composition,
    names: &TaskNames,
    random: &mut Random,
) -> WrittenCode {
    let mut writer = PythonWriter {
        names,
        lines: Vec::new(),
        current: names.naming.arguments[0].to_owned(),
        used: names.naming.arguments.iter().map(|&name| name.to_owned()).collect(),
        pending: None,
        taken: Vec::new(),
        random,
    };
    for (at, stage) in program.stages.iter().enumerate() {
        writer.stage(stage, &names.constants(program, at, false));
    }
    writer.finish()
}

/// The texts of a step's elements in Python, around the element `x`.
pub(super) fn with_elements(
    template: &str,
    stage: &Stage,
    constants: &[String],
    x: &str,
) -> String {
    let mut text = with_constants(template, stage.part(ConstantOwner::Step, constants));
    if let Some(test) = stage.test {
        let own = stage.part(ConstantOwner::Test, constants);
        let [is, not] = [test.python, test.negated].map(|python| with_constants(python, own));
        let at = |x: &str| is.replace("{x}", x);
        text = fill(
            &text,
            &[
                ("{test}", &is),
                ("{nottest}", &not),
                ("{testo}", &at("{o}")),
                ("{testi}", &at("{v}[i]")),
            ],
        );
    }
    let keys = [("{change}", "{changeo}"), ("{change2}", "{change2o}")];
    for ((at, change), (plain, on_result)) in stage.changes.iter().enumerate().zip(keys) {
        let python =
            with_constants(change.python, stage.part(ConstantOwner::Change(at), constants));
        text = fill(&text, &[(plain, &python), (on_result, &python.replace("{x}", "{o}"))]);
    }
    text.replace("{x}", x)
}

/// Elements that are being walked over.
struct OpenLoop {
    source: String,
    x: String,
    /// Conditions, all on `x` itself.
    conditions: Vec<String>,
    element: String,
    names: &'static [&'static str],
}

struct PythonWriter<'a> {
    names: &'a TaskNames,
    lines: Vec<String>,
    /// The name of the value so far.
    current: String,
    used: Vec<String>,
    pending: Option<OpenLoop>,
    taken: Vec<String>,
    random: &'a mut Random,
}

impl PythonWriter<'_> {
    fn stage(&mut self, stage: &Stage, constants: &[String]) {
        let step = stage.step;
        if !matches!(step.code, Code::Keep(_) | Code::Each(_) | Code::Fold { .. }) {
            self.settle();
        }
        self.taken.push(self.current.clone());
        match step.code {
            Code::Keep(condition) => {
                self.walk(stage);
                if let Some(walk) = &mut self.pending {
                    walk.conditions.push(with_elements(condition, stage, constants, &walk.x));
                    walk.names = step.names;
                }
            }
            Code::Each(element) => {
                self.walk(stage);
                if let Some(walk) = &mut self.pending {
                    walk.element = with_elements(element, stage, constants, &walk.x);
                    walk.names = step.names;
                }
            }
            Code::Whole(expression) => {
                let text = self.filled(expression, stage, constants);
                self.expression(&text, step.names);
            }
            Code::Fold { .. } => self.fold(stage),
            Code::Block(lines) => {
                let result = self.fresh(step.names);
                for line in lines {
                    let line = self.filled(line, stage, constants);
                    self.lines.push(line.replace("{o}", &result));
                }
                self.current = result;
            }
        }
    }

    /// Starts to walk over the elements of the current value, unless that is being done and they
    /// are still unchanged.
    fn walk(&mut self, stage: &Stage) {
        if self.pending.as_ref().is_some_and(|walk| walk.element != walk.x) {
            self.settle();
        }
        if self.pending.is_none() {
            let x = self.names.element(stage.step.from).unwrap_or("x").to_owned();
            let (source, element) = (self.current.clone(), x.clone());
            self.pending = Some(OpenLoop {
                source,
                x,
                conditions: Vec::new(),
                element,
                names: stage.step.names,
            });
        }
    }

    fn fold(&mut self, stage: &Stage) {
        let Code::Fold { whole, generator, start, update } = stage.step.code else { return };
        let Some(walk) = self.pending.take() else {
            let text = whole.replace("{v}", &self.current);
            return self.expression(&text, stage.step.names);
        };
        if self.names.loops && !start.is_empty() {
            let result = self.fresh(stage.step.names);
            self.lines.push(start.replace("{o}", &result));
            self.walk_lines(&walk, &fill(update, &[("{o}", &result), ("{e}", &walk.element)]));
            self.current = result;
        } else {
            let over = format!("{}{}", walk.source, walk.clause());
            let all = format!("{} for {} in {over}", walk.element, walk.x);
            let text = fill(generator, &[("{g}", &all), ("{s}", &over), ("{x}", &walk.x)]);
            self.expression(&text, stage.step.names);
        }
    }

    /// Collects the current iteration into a list.
    fn settle(&mut self) {
        let Some(walk) = self.pending.take() else { return };
        if self.names.loops {
            let result = self.fresh(walk.names);
            self.lines.push(format!("{result} = []"));
            self.walk_lines(&walk, &format!("{result}.append({})", walk.element));
            self.current = result;
        } else {
            let text =
                format!("[{} for {} in {}{}]", walk.element, walk.x, walk.source, walk.clause());
            self.expression(&text, walk.names);
        }
    }

    fn walk_lines(&mut self, walk: &OpenLoop, body: &str) {
        self.lines.push(format!("for {} in {}:", walk.x, walk.source));
        let mut indent = "    ".to_owned();
        if !walk.conditions.is_empty() {
            self.lines.push(format!("{indent}if {}:", walk.conditions.join(" and ")));
            indent.push_str("    ");
        }
        self.lines.push(format!("{indent}{body}"));
    }

    /// The value so far is this expression.
    fn expression(&mut self, text: &str, names: &'static [&'static str]) {
        let name = self.fresh(names);
        self.lines.push(format!("{name} = {text}"));
        self.current = name;
    }

    fn filled(&self, template: &str, stage: &Stage, constants: &[String]) -> String {
        let x = self.names.element(stage.step.from).unwrap_or(&self.current);
        let second = self.names.naming.arguments.get(1).copied().unwrap_or("");
        fill(
            &with_elements(template, stage, constants, x),
            &[("{v}", &self.current), ("{w}", second)],
        )
    }

    /// A name for a result that nothing has yet.
    fn fresh(&mut self, names: &'static [&'static str]) -> String {
        let all = names.iter().chain(&["result", "out", "answer", "last"]);
        let free: Vec<&str> = all.copied().filter(|name| !self.is_used(name)).collect();
        let own = names.len().min(free.len().max(1));
        let name = free.get(self.random.below(own)).copied().unwrap_or("final").to_owned();
        self.used.push(name.clone());
        name
    }

    fn is_used(&self, name: &str) -> bool {
        self.used.iter().any(|used| used == name) || self.names.lifted == Some(name)
    }

    fn finish(mut self) -> WrittenCode {
        self.settle();
        let assigned =
            self.lines.last().and_then(|line| line.strip_prefix(&format!("{} = ", self.current)));
        let last = match assigned.map(str::to_owned) {
            Some(expression) => {
                self.lines.pop();
                format!("return {expression}")
            }
            None => format!("return {}", self.current),
        };
        self.lines.push(last);
        let head = format!("def {}({}):", self.names.function, self.names.parameters());
        let body = format!("    {}", self.lines.join("\n    "));
        let import = if body.contains("math.") { "import math\n\n\n" } else { "" };
        let source = format!("{import}{head}\n{body}");
        WrittenCode { source, taken: self.taken }
    }
}

impl OpenLoop {
    fn clause(&self) -> String {
        if self.conditions.is_empty() {
            String::new()
        } else {
            format!(" if {}", self.conditions.join(" and "))
        }
    }
}
