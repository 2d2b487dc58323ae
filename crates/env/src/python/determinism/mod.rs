//! Whether a program may do something else the next time.
//!
//! A verdict is cached only for programs that do the same each time. Everything varies that is not
//! known to be steady: a module that is not listed, or a name of it that is not ([`modules`]); a name
//! that neither the program binds nor a steady builtin has; attributes with double underscores. What
//! is left is built from arithmetic, text and containers, and two things of these can still differ
//! between runs, because objects lie at other addresses: the text of an object that shows its
//! address, and the order of a set whose members are hashed by it. So a program varies that may have such an
//! object, wherever, and calls or hands on anything that is not known to make no text ([`silent`]); and so
//! does one that has a set and may have a member like that:
//! `None`, NaN and `...` are hashed by their addresses too, and where there are floats there may be a NaN.
//! An iterator is no such object where it is used up on the spot ([`shapes::uses_up`]).
//!
//! Running a program a second time would need no lists and would prove nothing: chance can be the same
//! twice, and a model that is trained on rewards finds the texts for which it is.
//!
//! It says yes too often rather than too rarely: a false alarm costs one run of the program.
//! Plain `random.random()` is not flagged: the judge seeds that generator. Nor is the order of a set
//! of strings: the judge fixes the seed of their hashes. Other generators are steady if their seed
//! stands there as a literal, and if what makes or seeds them is called and never handed on
//! ([`chance`]).
//!
//! A task's own tests, setup and checker can vary as well: [`tests_may_vary`].
//!
//! Not seen: a NaN that a program makes of arguments alone, and the text of an object that a task's setup
//! hands to it.
// size: one walk over the tree; what it finds is weighed together at its end.

mod author;
mod chance;
mod modules;
mod names;
mod shapes;
mod silent;
mod steady;

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, ExceptHandler, Expr, Stmt};

use self::chance::is_generator;
use self::names::Bound;
use self::shapes::{
    gives_floats, is_constant, is_error, is_out_of_sight, is_plain_data, makes_iterator,
    reads_inside, uses_up,
};
use super::syntax::Module;
use whetstone_sandbox::plan::is_builtin;

use crate::stack::BigStack;

pub use author::tests_may_vary;

/// Calls that are handed functions every day, and neither show nor keep them.
const TAKES_FUNCTIONS: [&str; 16] = [
    "map",
    "filter",
    "sorted",
    "sort",
    "min",
    "max",
    "reduce",
    "isinstance",
    "issubclass",
    "super",
    "cmp_to_key",
    "partial",
    "defaultdict",
    "takewhile",
    "groupby",
    "accumulate",
];

/// Whether two runs of a program may differ.
pub fn may_vary(module: &Module<'_>, _stack: &BigStack) -> bool {
    let body = &module.parsed.syntax().body;
    let bound = Bound::of(body);
    let mut walk = DeterminismWalk::new(&bound);
    walk.visit_body(body);
    walk.verdict()
}

#[expect(clippy::struct_excessive_bools, reason = "each is a finding of its own")]
struct DeterminismWalk<'b> {
    bound: &'b Bound,
    /// Names that nobody binds are the program's.
    beside_program: bool,
    varies: bool,
    /// There may be a value that shows its address as text.
    shows_address: bool,
    /// There may be a value that is hashed by its address.
    hashed_by_address: bool,
    /// Something may be made into text: what is called or handed on is not known to make none.
    shows: bool,
    /// There is a set.
    sets: bool,
    /// There are floats, and so there may be a NaN.
    floats: bool,
    /// A generator of random numbers is made.
    makes_generator: bool,
    /// Types of values are asked for: that of a generator makes another one.
    asks_for_types: bool,
    /// What stands here is looked up and not kept.
    in_annotation: bool,
    /// Attributes that are read and not called.
    read: BTreeSet<String>,
}

impl<'b> DeterminismWalk<'b> {
    fn new(bound: &'b Bound) -> Self {
        Self {
            bound,
            beside_program: false,
            varies: false,
            shows_address: false,
            hashed_by_address: false,
            shows: false,
            sets: false,
            floats: false,
            makes_generator: false,
            asks_for_types: false,
            in_annotation: false,
            read: BTreeSet::new(),
        }
    }

    fn verdict(&self) -> bool {
        // What is no field of the program's own is a bound method for all we know.
        let is_data = |name: &String| {
            self.bound.fields.contains(name) || steady::DATA.contains(&name.as_str())
        };
        let has_methods = !self.read.iter().all(is_data);
        self.varies
            || (self.shows && (self.shows_address || has_methods))
            || (self.sets && (self.hashed_by_address || has_methods || self.floats))
            || (self.makes_generator && self.asks_for_types)
    }

    fn flag(&mut self, condition: bool) {
        self.varies |= condition;
    }

    /// A value that is told from others by its address.
    fn has_address(&mut self) {
        (self.shows_address, self.hashed_by_address) = (true, true);
    }

    /// A name that is read, whatever for.
    fn name(&mut self, name: &str) {
        self.flag(steady::UNSTEADY_BUILTINS.contains(&name));
        let is_known = is_builtin(name) || self.bound.all.contains(name) || self.beside_program;
        self.flag(!is_known);
        // The judge imports a module that a test uses without doing so itself.
        self.flag(!self.bound.all.contains(name) && steady::UNSTEADY_MODULES.contains(&name));
        // How much memory or stack is left differs from run to run.
        self.flag(matches!(name, "MemoryError" | "RecursionError"));
        self.sets |= matches!(name, "set" | "frozenset");
        // Types are hashed by their addresses.
        self.hashed_by_address |= name == "type";
        self.asks_for_types |= name == "type";
        self.floats |= matches!(name, "float" | "complex");
    }

    /// A name that is handed on.
    fn handed_on_name(&mut self, name: &str) {
        if self.bound.generators.contains(name) {
            self.handed_on(name);
        }
    }

    /// An attribute that is handed on: whoever gets it may call it.
    fn handed_on(&mut self, name: &str) {
        self.flag(self.bound.has_chance && is_generator(name) && !self.in_annotation);
    }

    /// A name that is read for its value: not called, and no base of an attribute.
    fn value(&mut self, name: &str) {
        self.name(name);
        self.flag(is_out_of_sight(name));
        // A module that is handed on is used out of sight.
        self.flag(self.bound.module(name).is_some());
        // By another name it catches that memory ran out.
        self.flag(is_wide(name));
        self.may_show(name);
        self.types_are_used(name);
        self.handed_on_name(name);
        if self.bound.definitions.contains(name) {
            self.has_address();
        }
        // Functions and types of Python's are hashed by their addresses.
        self.hashed_by_address |= is_builtin(name);
        self.makes_objects(name);
        let from = self.bound.imported.get(name);
        if from.is_some_and(|from| !is_constant(&from.module, &from.name)) {
            self.has_address();
        }
    }

    /// A name that is called, here or elsewhere.
    fn may_show(&mut self, name: &str) {
        self.shows |= !silent::name(name, self.bound, is_builtin(name));
    }

    /// An attribute that is called, here or elsewhere.
    fn may_show_by(&mut self, attribute: &ast::ExprAttribute) {
        let base = attribute.value.as_name_expr().map(|base| base.id.as_str());
        let name = attribute.attr.as_str();
        self.shows |= match base.and_then(|base| self.bound.module(base)) {
            Some(module) => !silent::of_module(module, name),
            None => !silent::attribute(name, self.bound),
        };
    }

    /// The type of a value can be called, and may be that of text or of a set.
    fn types_are_used(&mut self, name: &str) {
        let is_type = name == "type";
        (self.shows, self.sets) = (self.shows || is_type, self.sets || is_type);
    }

    /// What is handed on may be called elsewhere: `map(iter, lists)`.
    fn makes_objects(&mut self, name: &str) {
        if makes_iterator(name) || self.makes_object(None, name) {
            self.has_address();
        }
    }

    /// Whether a call of a name, of a module or imported from one, gives an object with an address.
    fn makes_object(&self, module: Option<&str>, name: &str) -> bool {
        let (module, name) = match module {
            Some(module) => (module, name),
            None => match self.bound.imported.get(name) {
                Some(from) => (from.module.as_str(), from.name.as_str()),
                None => return false,
            },
        };
        modules::of_module(module).is_some_and(|steady| steady.makes_object(name))
    }

    fn imported(&mut self, module: &str, name: &str) {
        let inner = modules::of_module(&format!("{module}.{name}")).is_some();
        let steady = modules::of_module(module).is_some_and(|steady| steady.has(name));
        self.flag(!steady && !inner);
        self.floats |= gives_floats(module, name);
    }

    fn import(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Import(statement) => {
                for alias in &statement.names {
                    self.flag(modules::of_module(&alias.name).is_none());
                }
            }
            Stmt::ImportFrom(statement) => {
                self.flag(statement.level > 0);
                let module = statement.module.as_deref().unwrap_or_default();
                statement.names.iter().for_each(|alias| self.imported(module, &alias.name));
                // By another name it would not be known.
                let renamed = |alias: &ast::Alias| {
                    is_generator(&alias.name)
                        && alias.asname.as_ref().is_some_and(|name| *name != alias.name)
                };
                self.flag(statement.names.iter().any(renamed));
            }
            _ => {}
        }
    }

    fn attribute(&mut self, name: &str) {
        let inside = name.starts_with("__") && name.ends_with("__");
        self.flag(inside && !steady::HARMLESS.contains(&name));
        self.flag(steady::UNSTEADY_ATTRIBUTES.contains(&name));
    }

    /// An attribute that is read and not called, by whatever syntax.
    fn attribute_read(&mut self, name: &str) {
        self.read.insert(name.to_owned());
        self.shows |= silent::shows(name);
        self.sets |= matches!(name, "keys" | "items");
        self.handed_on(name);
        // A format that is called elsewhere may name attributes out of sight.
        self.flag(name == "format");
    }

    /// An attribute, and what it is of.
    fn attribute_of(&mut self, attribute: &ast::ExprAttribute) {
        let name = attribute.attr.as_str();
        let base = attribute.value.as_name_expr().map(|base| base.id.as_str());
        match base.and_then(|base| self.bound.module(base)) {
            Some(module) => self.imported(module, name),
            None => self.attribute(name),
        }
        let of_super = attribute.value.as_call_expr().and_then(|call| call.func.as_name_expr());
        let of_super = of_super.is_some_and(|name| name.id.as_str() == "super");
        let of_class = base.is_some_and(|base| self.bound.definitions.contains(base));
        // A generator that is made anew takes its seed from the system.
        self.flag(self.bound.has_chance && name == "__init__" && !of_super && !of_class);
        // The text of whatever it is of; that of an object of the program's own is seen by its class.
        let is_own = base == Some("self") || (of_super && name == "__str__");
        self.flag(silent::is_text(name) && !is_own);
        match base {
            Some(base) => self.name(base),
            None => self.used_up(&attribute.value),
        }
    }

    /// An expression whose value is used up here: an iterator in it is never seen.
    fn used_up(&mut self, expr: &Expr) {
        match expr {
            Expr::Generator(_) => visitor::walk_expr(self, expr),
            Expr::Call(call) => self.call(call),
            Expr::Starred(starred) => self.used_up(&starred.value),
            Expr::NoneLiteral(_) => {}
            other => self.visit_expr(other),
        }
    }

    /// Whether a call gives something that is told from others by its address.
    fn gives_object(&self, call: &ast::ExprCall) -> bool {
        match &*call.func {
            Expr::Name(name) => makes_iterator(&name.id) || self.makes_object(None, &name.id),
            Expr::Attribute(attribute) => {
                let base = attribute.value.as_name_expr().map(|base| base.id.as_str());
                let module = base.and_then(|base| self.bound.module(base));
                module.is_some_and(|module| self.makes_object(Some(module), &attribute.attr))
                    || matches!(attribute.attr.as_str(), "finditer" | "groupby" | "tee")
            }
            _ => false,
        }
    }

    /// A call whose value goes somewhere.
    fn call_with_value(&mut self, call: &ast::ExprCall) {
        if self.gives_object(call) {
            self.has_address();
        }
        let name = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        // Exceptions and matches are hashed by their addresses, and show none.
        self.hashed_by_address |=
            is_error(name) || matches!(name, "match" | "search" | "fullmatch");
        // A view of a dictionary is a set in all but its order.
        self.sets |= matches!(name, "keys" | "items");
        self.types_are_used(name);
        self.call(call);
    }

    fn class(&mut self, class: &ast::StmtClassDef) {
        let methods = || class.body.iter().filter_map(Stmt::as_function_def_stmt);
        let has = |name: &str| methods().any(|method| method.name.as_str() == name);
        // What a `with` block swallows may be that memory ran out.
        self.flag(has("__del__") || has("__hash__") || has("__exit__"));
        if !is_plain_data(class) {
            self.shows_address |= !has("__repr__");
            self.hashed_by_address = true;
        }
        let is_error = |base: &Expr| base.as_name_expr().is_some_and(|name| is_error(&name.id));
        self.hashed_by_address |= class.bases().iter().any(is_error);
    }

    fn call(&mut self, call: &ast::ExprCall) {
        let name = match &*call.func {
            Expr::Name(name) => {
                self.name(&name.id);
                self.flag(name.id.as_str() == "object");
                name.id.as_str()
            }
            Expr::Attribute(attribute) => {
                self.attribute_of(attribute);
                // A format that is not written down may name attributes out of sight.
                let is_format = attribute.attr.as_str() == "format";
                self.flag(is_format && !attribute.value.is_string_literal_expr());
                attribute.attr.as_str()
            }
            other => {
                self.visit_expr(other);
                ""
            }
        };
        match &*call.func {
            Expr::Name(name) if is_asked(&name.id, &call.arguments) => {}
            Expr::Name(name) => self.may_show(&name.id),
            Expr::Attribute(attribute) => self.may_show_by(attribute),
            _ => {}
        }
        self.special(name, &call.arguments);
        // The groups within are iterators of their own.
        self.shows_address |= matches!(name, "groupby" | "tee");
        for argument in &call.arguments.args {
            match argument {
                Expr::Starred(starred) => self.used_up(&starred.value),
                Expr::Generator(_) | Expr::Call(_) if uses_up(name) => self.used_up(argument),
                other => self.argument(other, name),
            }
        }
        for keyword in &call.arguments.keywords {
            // `key=len`, `default_factory=list`: called and not kept.
            let takes =
                matches!(keyword.arg.as_deref(), Some("key" | "default_factory" | "default"));
            self.argument(&keyword.value, if takes { "sorted" } else { name });
        }
    }

    /// An argument of a call of `function`.
    fn argument(&mut self, argument: &Expr, function: &str) {
        match argument {
            // The classes that a value may be of are not called.
            Expr::Name(name) if is_class_test(function) && is_builtin(&name.id) => {
                self.name(&name.id);
            }
            Expr::Tuple(classes) if is_class_test(function) => {
                classes.iter().for_each(|class| self.argument(class, function));
            }
            Expr::Name(name) if TAKES_FUNCTIONS.contains(&function) => {
                self.name(&name.id);
                self.flag(self.bound.module(&name.id).is_some());
                self.flag(is_out_of_sight(&name.id));
                self.handed_on_name(&name.id);
                self.makes_objects(&name.id);
                self.may_show(&name.id);
                self.types_are_used(&name.id);
            }
            Expr::Attribute(method) if TAKES_FUNCTIONS.contains(&function) => {
                self.handed_on(&method.attr);
                self.flag(method.attr.as_str() == "format");
                self.may_show_by(method);
                self.sets |= matches!(method.attr.as_str(), "keys" | "items");
                self.attribute_of(method);
            }
            Expr::Lambda(lambda) if TAKES_FUNCTIONS.contains(&function) => {
                visitor::walk_expr(self, &Expr::Lambda(lambda.clone()));
            }
            other => self.visit_expr(other),
        }
    }

    /// Calls that are steady only with the right arguments.
    fn special(&mut self, name: &str, arguments: &ast::Arguments) {
        match name {
            "seed" | "Random" => {
                self.makes_generator = true;
                self.flag(!chance::is_seeded(arguments));
            }
            "getattr" | "setattr" | "hasattr" => match arguments.args.get(1) {
                Some(Expr::StringLiteral(text)) => {
                    self.attribute(text.value.to_str());
                    self.attribute_read(text.value.to_str());
                    self.flag(silent::is_text(text.value.to_str()));
                    self.flag(text.value.to_str() == "format");
                    self.flag(self.bound.has_chance && text.value.to_str() == "__init__");
                }
                _ => self.flag(true),
            },
            // With three arguments it makes a class out of sight.
            "type" => self.flag(arguments.args.len() != 1),
            _ => {}
        }
    }

    fn handler(&mut self, handler: &ast::ExceptHandlerExceptHandler) {
        // These catch that memory or stack ran out, too.
        let is_wide = |expr: &Expr| expr.as_name_expr().is_some_and(|name| is_wide(&name.id));
        let wide = match handler.type_.as_deref() {
            None => true,
            Some(Expr::Tuple(tuple)) => tuple.iter().any(is_wide),
            Some(expr) => is_wide(expr),
        };
        self.flag(wide);
        self.hashed_by_address |= handler.name.is_some();
        // Its text may show what the call that raised it was given.
        self.shows |= handler.name.is_some();
        match handler.type_.as_deref() {
            Some(Expr::Tuple(tuple)) => tuple.iter().for_each(|one| self.caught(one)),
            Some(one) => self.caught(one),
            None => {}
        }
        self.visit_body(&handler.body);
    }

    fn caught(&mut self, class: &Expr) {
        match class {
            Expr::Name(name) => self.name(&name.id),
            other => self.visit_expr(other),
        }
    }

    fn raised(&mut self, expr: &Expr) {
        match expr {
            Expr::Name(name) => self.name(&name.id),
            Expr::Call(call) => self.call(call),
            other => self.visit_expr(other),
        }
    }
}

/// Whether an exception of this name stands for one of memory or stack, too.
fn is_wide(name: &str) -> bool {
    matches!(name, "Exception" | "BaseException" | "RuntimeError")
}

fn is_class_test(function: &str) -> bool {
    matches!(function, "isinstance" | "issubclass")
}

/// Whether this call of a builtin makes no text, as others of it may.
fn is_asked(function: &str, arguments: &ast::Arguments) -> bool {
    let is_text = |argument: &Expr| argument.is_string_literal_expr();
    function == "type" || (function == "input" && arguments.args.iter().all(is_text))
}

impl<'a> Visitor<'a> for DeterminismWalk<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(stmt),
            Stmt::FunctionDef(function) => self.flag(function.is_async),
            Stmt::ClassDef(class) => {
                self.class(class);
                for base in class.bases() {
                    if let Expr::Name(name) = base {
                        self.name(&name.id);
                        self.handed_on_name(&name.id);
                    } else {
                        self.visit_expr(base);
                    }
                }
                class.keywords().iter().for_each(|word| self.visit_expr(&word.value));
                class.decorator_list.iter().for_each(|item| self.visit_decorator(item));
                self.visit_body(&class.body);
                return;
            }
            // A field of a data class can be read by its place, without its name.
            Stmt::AnnAssign(field) => {
                let unsteady =
                    |name: &ast::ExprName| steady::UNSTEADY_ATTRIBUTES.contains(&name.id.as_str());
                self.flag(field.target.as_name_expr().is_some_and(unsteady));
            }
            Stmt::AugAssign(assign) => {
                self.shows |= assign.op == ast::Operator::Mod;
                self.floats |= assign.op == ast::Operator::Div;
            }
            // Taken apart at once.
            Stmt::Assign(assign) if assign.targets.iter().all(Expr::is_tuple_expr) => {
                assign.targets.iter().for_each(|target| self.visit_expr(target));
                self.used_up(&assign.value);
                return;
            }
            Stmt::For(each) => {
                self.flag(each.is_async);
                self.visit_expr(&each.target);
                self.used_up(&each.iter);
                self.visit_body(&each.body);
                self.visit_body(&each.orelse);
                return;
            }
            Stmt::Expr(statement) => return self.used_up(&statement.value),
            Stmt::Raise(raise) => {
                raise.exc.iter().chain(&raise.cause).for_each(|one| self.raised(one));
                return;
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_decorator(&mut self, decorator: &'a ast::Decorator) {
        match &decorator.expression {
            Expr::Name(name) => {
                self.name(&name.id);
                self.handed_on_name(&name.id);
            }
            other => self.visit_expr(other),
        }
    }

    /// Annotations are neither shown nor kept, but what they name is looked up.
    fn visit_annotation(&mut self, annotation: &'a Expr) {
        let before = (self.shows, self.shows_address, self.hashed_by_address, self.sets);
        let floats = self.floats;
        let read = self.read.clone();
        let outer = std::mem::replace(&mut self.in_annotation, true);
        self.visit_expr(annotation);
        self.in_annotation = outer;
        (self.shows, self.shows_address, self.hashed_by_address, self.sets) = before;
        self.read = read;
        self.floats = floats;
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        self.handler(inner);
    }

    fn visit_comprehension(&mut self, each: &'a ast::Comprehension) {
        self.flag(each.is_async);
        self.visit_expr(&each.target);
        self.used_up(&each.iter);
        each.ifs.iter().for_each(|test| self.visit_expr(test));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx.is_load() => self.value(&name.id),
            Expr::Name(name) => self.flag(name.id.as_str() == "__match_args__"),
            Expr::Attribute(attribute) => {
                let of_module = attribute.value.as_name_expr();
                let of_module = of_module.is_some_and(|n| self.bound.module(&n.id).is_some());
                if attribute.ctx.is_load() && !of_module {
                    self.attribute_read(&attribute.attr);
                } else if attribute.ctx.is_load() {
                    self.handed_on(&attribute.attr);
                    self.may_show_by(attribute);
                    let module = attribute.value.as_name_expr();
                    let module = module.and_then(|name| self.bound.module(&name.id));
                    if !module.is_some_and(|module| is_constant(module, &attribute.attr)) {
                        self.has_address();
                    }
                }
                self.attribute_of(attribute);
                return;
            }
            Expr::Call(call) => return self.call_with_value(call),
            Expr::Await(_) => self.flag(true),
            Expr::Lambda(_) | Expr::Generator(_) => self.has_address(),
            // Before Python 3.12 `None` is hashed by its address as well.
            Expr::NoneLiteral(_) | Expr::EllipsisLiteral(_) => self.hashed_by_address = true,
            Expr::NumberLiteral(number) => self.floats |= !number.value.is_int(),
            Expr::Compare(compare) => {
                self.used_up(&compare.left);
                compare.comparators.iter().for_each(|side| self.used_up(side));
                return;
            }
            Expr::Subscript(subscript) => {
                self.used_up(&subscript.value);
                self.visit_expr(&subscript.slice);
                return;
            }
            Expr::YieldFrom(from) => {
                self.shows_address = true;
                return self.used_up(&from.value);
            }
            Expr::Yield(_) => self.shows_address = true,
            Expr::Set(_) | Expr::SetComp(_) => self.sets = true,
            Expr::FString(_) | Expr::TString(_) => self.shows = true,
            Expr::BinOp(binary) => {
                self.shows |= binary.op == ast::Operator::Mod;
                self.floats |= binary.op == ast::Operator::Div;
            }
            Expr::StringLiteral(text) => {
                let text = text.value.to_str();
                self.flag(text.contains(".__") || text.contains("[__") || reads_inside(text));
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }

    /// The names of a class pattern are attributes that it reads.
    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        if let ast::Pattern::MatchClass(class) = pattern {
            for keyword in &class.arguments.keywords {
                self.attribute(&keyword.attr);
                self.attribute_read(&keyword.attr);
            }
        }
        visitor::walk_pattern(self, pattern);
    }
}

#[cfg(test)]
mod tests;
