//! Types of an index, parsed from their text and shared: a type is a number.
//!
//! Grammar: `union := both ('|' both)*`, `both := list ('&' list)*`, `list := atom '[]'*`, and an atom is
//! `this`, `?`, `$n`, `@n`, `typeof path`, `path<union,..>`, `(union,..)` for a function with these
//! parameters, or `{union}`. What does not parse is [`Type::Any`], and so is a path that names no row.

use std::collections::HashMap;

/// A row, by position.
pub(crate) type RowId = u32;

/// A type, by position in [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeId(u32);

/// A type of which nothing is known.
pub(crate) const ANY: TypeId = TypeId(0);

/// What is known of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    /// Nothing.
    Any,
    /// What the method was called on.
    This,
    /// The type of an argument.
    Argument(u8),
    /// A type argument of the receiver.
    Parameter(u8),
    /// An instance of a class, or a value of an interface or typedef, with type arguments.
    Instance(RowId, Box<[TypeId]>),
    /// A class, namespace, enumeration or function itself.
    Space(RowId),
    /// One of these.
    Union(Box<[TypeId]>),
    /// All of these.
    Both(Box<[TypeId]>),
    /// An array.
    List(TypeId),
    /// A function with these parameters.
    Function(Box<[TypeId]>),
}

/// All types of an index, each once.
#[derive(Debug)]
pub(crate) struct Types {
    all: Vec<Type>,
    ids: HashMap<Type, TypeId>,
}

/// Deepest nesting of a type's text.
const MAX_DEPTH: usize = 16;

impl Types {
    pub(crate) fn new() -> Self {
        Self { all: vec![Type::Any], ids: HashMap::from([(Type::Any, ANY)]) }
    }

    pub(crate) fn get(&self, id: TypeId) -> &Type {
        &self.all[id.0 as usize]
    }

    /// The number of a type that is in use, if it is.
    pub(crate) fn find(&self, ty: &Type) -> Option<TypeId> {
        self.ids.get(ty).copied()
    }

    pub(crate) fn add(&mut self, ty: Type) -> TypeId {
        if let Some(id) = self.ids.get(&ty) {
            return *id;
        }
        let id = TypeId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(ty.clone());
        self.ids.insert(ty, id);
        id
    }

    /// The type that `text` spells.
    pub(crate) fn parse(&mut self, text: &str, paths: &HashMap<String, RowId>) -> TypeId {
        let mut parser = Parser { types: self, paths, rest: text, depth: 0 };
        match parser.union() {
            Some(id) if parser.rest.is_empty() => id,
            _ => ANY,
        }
    }
}

struct Parser<'p> {
    types: &'p mut Types,
    paths: &'p HashMap<String, RowId>,
    rest: &'p str,
    depth: usize,
}

impl<'p> Parser<'p> {
    fn eat(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn union(&mut self) -> Option<TypeId> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut parts = vec![self.both()?];
        while self.eat("|") {
            parts.push(self.both()?);
        }
        self.depth -= 1;
        let id = match parts[..] {
            [one] => one,
            _ if parts.contains(&ANY) => ANY,
            _ => self.types.add(Type::Union(parts.into())),
        };
        Some(id)
    }

    fn both(&mut self) -> Option<TypeId> {
        let mut parts = vec![self.list()?];
        while self.eat("&") {
            parts.push(self.list()?);
        }
        let id = match parts[..] {
            [one] => one,
            _ => self.types.add(Type::Both(parts.into())),
        };
        Some(id)
    }

    fn list(&mut self) -> Option<TypeId> {
        let mut id = self.atom()?;
        while self.eat("[]") {
            id = self.types.add(Type::List(id));
        }
        Some(id)
    }

    fn atom(&mut self) -> Option<TypeId> {
        if self.eat("?") {
            return Some(ANY);
        }
        if self.eat("{") {
            let inner = self.union()?;
            return self.eat("}").then_some(inner);
        }
        if self.eat("(") {
            let params = self.arguments(")")?;
            return Some(self.types.add(Type::Function(params.into())));
        }
        if self.eat("typeof ") {
            let row = self.paths.get(self.word()).copied();
            return Some(row.map_or(ANY, |row| self.types.add(Type::Space(row))));
        }
        self.named()
    }

    fn named(&mut self) -> Option<TypeId> {
        let word = self.word();
        if word.is_empty() {
            return None;
        }
        if word == "this" {
            return Some(self.types.add(Type::This));
        }
        if let Some(number) = word.strip_prefix('$') {
            return Some(self.types.add(Type::Parameter(number.parse().ok()?)));
        }
        if let Some(number) = word.strip_prefix('@') {
            return Some(self.types.add(Type::Argument(number.parse().ok()?)));
        }
        let row = self.paths.get(word).copied();
        let arguments = if self.eat("<") { self.arguments(">")? } else { Vec::new() };
        for argument in &arguments {
            self.types.add(Type::List(*argument));
        }
        Some(row.map_or(ANY, |row| self.types.add(Type::Instance(row, arguments.into()))))
    }

    /// Types between commas, up to and with `end`.
    fn arguments(&mut self, end: &str) -> Option<Vec<TypeId>> {
        let mut types = Vec::new();
        while !self.eat(end) {
            if !types.is_empty() && !self.eat(",") {
                return None;
            }
            types.push(self.union()?);
        }
        Some(types)
    }

    fn word(&mut self) -> &'p str {
        let is_part = |c: char| c.is_alphanumeric() || "_.$@".contains(c);
        let end = self.rest.find(|c: char| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}
