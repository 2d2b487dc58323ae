//! The walk over statements that finds the values of names.

use ruff_python_ast::visitor::{
    Visitor, walk_comprehension, walk_except_handler, walk_expr, walk_parameters, walk_pattern,
    walk_stmt, walk_with_item,
};
use ruff_python_ast::{
    Alias, Comprehension, ExceptHandler, Expr, ExprCall, Parameters, Pattern, Stmt, StmtClassDef,
    StmtFunctionDef, WithItem,
};
use ruff_text_size::Ranged;

use super::link::ArgumentsTaken;
use super::{FlowValues, places};
use crate::plan::names::captured;
use crate::plan::unused::is_by_text;

impl<'a> FlowValues<'a> {
    fn function(&mut self, def: &'a StmtFunctionDef) {
        let is_static = def.decorator_list.iter().any(|one| {
            one.expression.as_name_expr().is_some_and(|name| name.id.as_str() == "staticmethod")
        });
        let class = self.class.take();
        let skipped = usize::from(class.is_some() && !is_static);
        let (name, taken) =
            (def.name.as_str(), ArgumentsTaken::of(&def.parameters, skipped, def.range()));
        let name = match class {
            Some(class) if name == "__init__" => class,
            // It is not called by its name.
            Some(_) if name.starts_with("__") => {
                *self.handed.entry(name).or_default() += 1;
                name
            }
            _ => name,
        };
        self.parameters.entry(name).or_default().push(taken);
        for decorator in &def.decorator_list {
            self.decorated.push((name, self.value(&decorator.expression)));
            self.visit_decorator(decorator);
        }
        self.visit_parameters(&def.parameters);
        self.within.push(&def.name);
        self.visit_body(&def.body);
        self.within.pop();
        self.class = class;
    }

    fn class(&mut self, def: &'a StmtClassDef) {
        let field = |one: &'a Stmt| one.as_ann_assign_stmt()?.target.as_name_expr();
        let fields = def.body.iter().filter_map(field).map(|name| name.id.as_str());
        let fields: Vec<_> = fields.collect();
        self.fields.extend(&fields);
        self.parameters
            .entry(&def.name)
            .or_default()
            .push(ArgumentsTaken::fields(fields, def.range()));
        def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        if let Some(arguments) = def.arguments.as_deref() {
            self.visit_arguments(arguments);
            let bases: Vec<_> = arguments.args.iter().map(|base| self.value(base)).collect();
            self.returned.entry(&def.name).or_default().extend(bases);
        }
        let outer = self.class.replace(&def.name);
        self.classes.push(&def.name);
        self.visit_body(&def.body);
        self.classes.pop();
        self.class = outer;
    }

    fn import(&mut self, names: &'a [Alias]) {
        let names = names.iter().map(|one| one.asname.as_ref().unwrap_or(&one.name).as_str());
        self.imported.extend(names.filter_map(|name| name.split('.').next()));
    }

    fn branch(&mut self, test: Option<&'a Expr>, body: &'a [Stmt]) {
        if let Some(test) = test {
            self.visit_expr(test);
            self.branches.push(test);
        }
        self.visit_body(body);
    }

    fn call(&mut self, call: &'a ExprCall) {
        self.calls.push(self.called(call));
        match call.func.as_ref() {
            Expr::Name(name) => {
                *self.reads.entry(&name.id).or_default() += 1;
                self.by_text |= is_by_text(&name.id);
            }
            Expr::Attribute(method) => {
                for place in places(&method.value) {
                    self.lead(place.name());
                }
                self.visit_expr(&method.value);
            }
            other => self.visit_expr(other),
        }
        self.visit_arguments(&call.arguments);
    }
}

impl<'a> Visitor<'a> for FlowValues<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.assign(target, &assign.value));
                // What a class has is read as an attribute.
                if self.class.is_none()
                    && let ([Expr::Name(name)], Expr::Call(call)) =
                        (&*assign.targets, &*assign.value)
                {
                    self.assigned.push((&name.id, self.called(call)));
                }
            }
            Stmt::AnnAssign(assign) => {
                assign.value.iter().for_each(|value| self.assign(&assign.target, value));
            }
            Stmt::AugAssign(assign) => self.assign(&assign.target, &assign.value),
            Stmt::For(each) => self.assign_each(&each.target, &each.iter),
            Stmt::If(choice) => {
                let depth = self.branches.len();
                self.branch(Some(&choice.test), &choice.body);
                for clause in &choice.elif_else_clauses {
                    self.branch(clause.test.as_ref(), &clause.body);
                }
                return self.branches.truncate(depth);
            }
            Stmt::While(again) => {
                let depth = self.branches.len();
                self.branch(Some(&again.test), &again.body);
                self.branch(None, &again.orelse);
                return self.branches.truncate(depth);
            }
            Stmt::Match(choice) => {
                let mut names = CapturedNames::default();
                choice.cases.iter().for_each(|case| names.visit_pattern(&case.pattern));
                for name in names.0 {
                    self.bind(name, self.value(&choice.subject));
                }
            }
            Stmt::With(with) => {
                let targets = with.items.iter().filter_map(|item| item.optional_vars.as_deref());
                self.contexts.push((targets.flat_map(places).collect(), &with.body));
            }
            Stmt::Return(returned) => {
                returned.value.iter().for_each(|value| self.give_back(value));
            }
            Stmt::Expr(statement) => match statement.value.as_ref() {
                Expr::Call(call) => self.statements.push(self.called(call)),
                Expr::ListComp(each) => {
                    let call = each.elt.as_call_expr().map(|call| self.called(call));
                    self.statements.extend(call);
                }
                _ => {}
            },
            Stmt::Import(import) => self.import(&import.names),
            Stmt::ImportFrom(import) => self.import(&import.names),
            Stmt::FunctionDef(def) => return self.function(def),
            Stmt::ClassDef(def) => return self.class(def),
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Named(named) => self.assign(&named.target, &named.value),
            Expr::Call(call) => return self.call(call),
            Expr::Name(name) if name.ctx.is_load() => {
                *self.reads.entry(&name.id).or_default() += 1;
                *self.handed.entry(&name.id).or_default() += 1;
                self.by_text |= is_by_text(&name.id);
            }
            Expr::Attribute(attribute) => {
                *self.handed.entry(&attribute.attr).or_default() += 1;
                self.by_text |= is_by_text(&attribute.attr);
            }
            Expr::Lambda(lambda) => self.lambdas.push(lambda),
            Expr::Compare(compare)
                if compare.comparators.iter().any(Expr::is_none_literal_expr) =>
            {
                match compare.left.as_ref() {
                    Expr::Name(name) => *self.against_none.entry(&name.id).or_default() += 1,
                    Expr::Call(call) => self.void.push(self.called(call)),
                    _ => {}
                }
            }
            Expr::Yield(yielded) => yielded.value.iter().for_each(|value| self.give_back(value)),
            Expr::YieldFrom(yielded) => self.give_back(&yielded.value),
            _ => {}
        }
        walk_expr(self, expression);
    }

    fn visit_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = parameter.default.as_deref() {
                self.bind(parameter.name().as_str(), self.value(default));
            }
        }
        walk_parameters(self, parameters);
    }

    fn visit_comprehension(&mut self, each: &'a Comprehension) {
        self.assign_each(&each.target, &each.iter);
        walk_comprehension(self, each);
    }

    fn visit_with_item(&mut self, item: &'a WithItem) {
        item.optional_vars.iter().for_each(|target| self.assign(target, &item.context_expr));
        walk_with_item(self, item);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(except) = handler;
        if let Some(name) = &except.name {
            self.unknown.entry(name.as_str()).or_default().push(except.range());
        }
        walk_except_handler(self, handler);
    }
}

/// The names that patterns bind.
#[derive(Default)]
struct CapturedNames<'a>(Vec<&'a str>);

impl<'a> Visitor<'a> for CapturedNames<'a> {
    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.0.extend(captured(pattern));
        walk_pattern(self, pattern);
    }
}
