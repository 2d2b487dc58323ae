//! The symbol table: which names a scope uses, binds and declares, in the order of the source.
//!
//! It answers what `CPython`'s symbol table refuses: a name declared `global` or `nonlocal` after it
//! was used, a declaration of a parameter, both declarations at once, a `nonlocal` name that no
//! enclosing function binds. That last answer is known only when the enclosing scopes have been
//! read to their ends, so open questions travel outwards as scopes close.

use std::collections::HashMap;

use ruff_text_size::{TextRange, TextSize};

use super::Problem;

const PARAMETER: u8 = 1;
const BOUND: u8 = 2;
const USED: u8 = 4;
const GLOBAL: u8 = 8;
const NONLOCAL: u8 = 16;
const ANNOTATED: u8 = 32;
const IMPORTED: u8 = 64;

/// What opened a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Module,
    Class,
    Function { is_async: bool },
    Lambda,
    Comprehension { lazy: bool, is_async: bool },
}

/// One scope that is being read.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) kind: Kind,
    /// Loops around the current statement, within this scope.
    pub(super) loops: u32,
    /// Blocks that `CPython` counts around the current statement, within this scope.
    pub(super) blocks: u32,
    /// Within an `except*` block: how many of the loops are around that block.
    pub(super) except_star: Option<u32>,
    names: HashMap<&'a str, u8>,
    /// Names that this scope declares `nonlocal`.
    declared: Vec<(&'a str, TextSize)>,
    /// `nonlocal` names of the scopes inside it that nothing has bound yet.
    inner: Vec<(&'a str, TextSize)>,
}

/// What a scope says to a `nonlocal` name of a scope inside it.
enum NameAnswer {
    Bound,
    /// The next scope outwards may know.
    Ask,
    Never,
}

/// The scopes around the current place, outermost first.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    stack: Vec<Scope<'a>>,
}

impl<'a> Scopes<'a> {
    pub(super) fn new() -> Self {
        Self { stack: vec![Scope::new(Kind::Module)] }
    }

    /// From the innermost outwards.
    pub(super) fn inside_out(&self) -> impl Iterator<Item = &Scope<'a>> {
        self.stack.iter().rev()
    }

    pub(super) fn current(&mut self) -> &mut Scope<'a> {
        if self.stack.is_empty() {
            self.stack.push(Scope::new(Kind::Module));
        }
        let last = self.stack.len() - 1;
        &mut self.stack[last]
    }

    pub(super) fn kind(&self) -> Kind {
        self.stack.last().map_or(Kind::Module, |scope| scope.kind)
    }

    pub(super) fn open(&mut self, kind: Kind) {
        self.stack.push(Scope::new(kind));
    }

    /// Ends a scope; a `nonlocal` name that nothing can bind any more is a problem.
    pub(super) fn close(&mut self) -> Result<(), Problem> {
        let Some(mut scope) = self.stack.pop() else { return Ok(()) };
        let mut open = std::mem::take(&mut scope.declared);
        for (name, at) in std::mem::take(&mut scope.inner) {
            match scope.answer(name) {
                NameAnswer::Bound => {}
                NameAnswer::Ask => open.push((name, at)),
                NameAnswer::Never => return unbound(name, at),
            }
        }
        match (self.stack.last_mut(), open.first()) {
            (Some(parent), _) => parent.inner.append(&mut open),
            (None, Some(&(name, at))) => return unbound(name, at),
            (None, None) => {}
        }
        Ok(())
    }

    pub(super) fn parameter(&mut self, name: &'a str) {
        self.current().mark(name, PARAMETER);
    }

    pub(super) fn uses(&mut self, name: &'a str) {
        self.current().mark(name, USED);
    }

    pub(super) fn binds(&mut self, name: &'a str) {
        self.current().mark(name, BOUND);
    }

    /// Binds too, but `CPython` lets a `global` declaration follow it.
    pub(super) fn imports(&mut self, name: &'a str) {
        self.current().mark(name, IMPORTED);
    }

    /// A `:=` inside a comprehension binds in the scope around all comprehensions.
    pub(super) fn binds_outside_comprehensions(&mut self, name: &'a str) {
        let outside =
            self.stack.iter_mut().rev().find(|s| !matches!(s.kind, Kind::Comprehension { .. }));
        if let Some(scope) = outside {
            scope.mark(name, BOUND);
        }
    }

    pub(super) fn annotates(&mut self, name: &'a str, range: TextRange) -> Result<(), Problem> {
        let declared = self.current().mark(name, BOUND | ANNOTATED) & (GLOBAL | NONLOCAL) != 0;
        if declared && self.kind() != Kind::Module {
            return problem(range.start(), format!("annotated name `{name}` is not local"));
        }
        Ok(())
    }

    pub(super) fn global(&mut self, name: &'a str, range: TextRange) -> Result<(), Problem> {
        self.declare(name, range, GLOBAL)
    }

    pub(super) fn nonlocal(&mut self, name: &'a str, range: TextRange) -> Result<(), Problem> {
        self.declare(name, range, NONLOCAL)?;
        self.current().declared.push((name, range.start()));
        Ok(())
    }

    fn declare(&mut self, name: &'a str, range: TextRange, flag: u8) -> Result<(), Problem> {
        let before = self.current().mark(name, flag);
        let word = if flag == GLOBAL { "global" } else { "nonlocal" };
        let message = if before & PARAMETER != 0 {
            format!("name `{name}` is parameter and {word}")
        } else if before & (BOUND | USED | ANNOTATED) != 0 {
            format!("name `{name}` is used before its {word} declaration")
        } else if before & (GLOBAL | NONLOCAL) & !flag != 0 {
            format!("name `{name}` is nonlocal and global")
        } else {
            return Ok(());
        };
        problem(range.start(), message)
    }
}

impl<'a> Scope<'a> {
    fn new(kind: Kind) -> Self {
        let names = HashMap::new();
        Self {
            kind,
            loops: 0,
            blocks: 0,
            except_star: None,
            names,
            declared: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// Only functions bind for the scopes inside them, and a class its own `__class__`.
    fn answer(&self, name: &str) -> NameAnswer {
        let flags = self.names.get(name).copied().unwrap_or(0);
        match self.kind {
            Kind::Function { .. } | Kind::Lambda if flags & GLOBAL != 0 => NameAnswer::Never,
            Kind::Function { .. } | Kind::Lambda if flags & !USED != 0 => NameAnswer::Bound,
            Kind::Class if name == "__class__" => NameAnswer::Bound,
            _ => NameAnswer::Ask,
        }
    }

    /// Adds to what is known of a name and returns what was known before.
    fn mark(&mut self, name: &'a str, flag: u8) -> u8 {
        let flags = self.names.entry(name).or_insert(0);
        let before = *flags;
        *flags |= flag;
        before
    }
}

fn unbound(name: &str, at: TextSize) -> Result<(), Problem> {
    problem(at, format!("no binding for nonlocal `{name}` found"))
}

fn problem(at: TextSize, message: String) -> Result<(), Problem> {
    Err(Problem { at, message })
}
