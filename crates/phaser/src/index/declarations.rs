//! From a declaration file to rows.
//!
//! The file has namespaces in namespaces; types in it are spelt with their full path. Overloads become one
//! member that takes as few arguments as the shortest and as many as the longest. A class and a namespace of
//! one name become one row.

use std::collections::BTreeMap;

use oxc_ast::ast::{
    Class, ClassElement, Declaration, FormalParameters, Function, MethodDefinitionKind, Statement,
    TSEnumDeclaration, TSInterfaceDeclaration, TSNamespaceDeclaration, TSNamespaceDeclarationBody,
    TSSignature, TSType, TSTypeAliasDeclaration, TSTypeAnnotation, TSTypeParameterDeclaration,
    VariableDeclaration,
};

use super::corrections::{is_closed_object, is_open};
use super::row::{Kind, Member, MemberKind, Row};
use super::type_text::{self, MethodType, TypeNames};

/// Deepest nesting of namespaces that is read.
const MAX_DEPTH: usize = 32;

/// Rows by path.
#[derive(Default)]
pub(super) struct Declarations {
    rows: BTreeMap<String, Row>,
}

/// A signature before it is a member or a function.
struct Signature<'s, 'a> {
    type_parameters: Option<&'s TSTypeParameterDeclaration<'a>>,
    params: &'s FormalParameters<'a>,
    returns: Option<&'s TSTypeAnnotation<'a>>,
}

impl Declarations {
    /// Reads the statements of a file.
    pub(super) fn read(statements: &[Statement<'_>]) -> BTreeMap<String, Row> {
        let mut all = Self::default();
        all.statements(statements, "", 0);
        all.rows
    }

    fn statements(&mut self, statements: &[Statement<'_>], prefix: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for statement in statements {
            let declaration = match statement {
                Statement::ExportDeclaration(export) => Some(&export.declaration),
                other => other.as_declaration(),
            };
            if let Some(declaration) = declaration {
                self.declaration(declaration, prefix, depth);
            }
        }
    }

    fn declaration(&mut self, declaration: &Declaration<'_>, prefix: &str, depth: usize) {
        match declaration {
            Declaration::TSNamespaceDeclaration(space) => self.namespace(space, prefix, depth),
            Declaration::ClassDeclaration(class) => self.class(class, prefix),
            Declaration::TSInterfaceDeclaration(interface) => self.interface(interface, prefix),
            Declaration::TSTypeAliasDeclaration(alias) => self.alias(alias, prefix),
            Declaration::FunctionDeclaration(function) => self.function(function, prefix),
            Declaration::VariableDeclaration(variables) => self.variables(variables, prefix),
            Declaration::TSEnumDeclaration(names) => self.enumeration(names, prefix),
            _ => {}
        }
    }

    fn namespace(&mut self, space: &TSNamespaceDeclaration<'_>, prefix: &str, depth: usize) {
        let path = join(prefix, &space.id.name);
        self.row(path.clone(), Kind::Namespace);
        match &space.body {
            TSNamespaceDeclarationBody::TSModuleBlock(block) => {
                self.statements(&block.body, &path, depth + 1);
            }
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) if depth < MAX_DEPTH => {
                self.namespace(inner, &path, depth + 1);
            }
            TSNamespaceDeclarationBody::TSNamespaceDeclaration(_) => {}
        }
    }

    fn class(&mut self, class: &Class<'_>, prefix: &str) {
        let Some(id) = &class.id else { return };
        let own = type_text::declared(class.type_parameters.as_deref());
        let mut ext: Vec<String> = Vec::new();
        ext.extend(class.heritage.iter().filter_map(|base| expression_path(&base.expression)));
        ext.extend(class.implements.iter().filter_map(|one| type_text::path(&one.expression)));
        let row = self.row(join(prefix, &id.name), Kind::Class);
        row.ext.extend(ext);
        for element in &class.body.body {
            class_element(row, element, &own);
        }
    }

    fn interface(&mut self, interface: &TSInterfaceDeclaration<'_>, prefix: &str) {
        let own = type_text::declared(interface.type_parameters.as_deref());
        let row = self.row(join(prefix, &interface.id.name), Kind::Interface);
        row.ext
            .extend(interface.extends.iter().filter_map(|base| type_text::path(&base.type_name)));
        for signature in &interface.body.body {
            object_member(row, signature, &own);
        }
    }

    fn alias(&mut self, alias: &TSTypeAliasDeclaration<'_>, prefix: &str) {
        let own = type_text::declared(alias.type_parameters.as_deref());
        let row = self.row(join(prefix, &alias.id.name), Kind::Typedef);
        alias_type(row, &alias.type_annotation, &own);
    }

    fn function(&mut self, function: &Function<'_>, prefix: &str) {
        let Some(id) = &function.id else { return };
        let signature = Signature {
            type_parameters: function.type_parameters.as_deref(),
            params: &function.params,
            returns: function.return_type.as_deref(),
        };
        let new = signature.member(MemberKind::Method, &[]);
        let known =
            self.rows.get(&join(prefix, &id.name)).is_some_and(|row| row.kind == Kind::Function);
        let row = self.row(join(prefix, &id.name), Kind::Function);
        let merged = if known { overload(of_row(row), &new) } else { new };
        (row.t, row.min, row.max, row.cb) = (merged.t, merged.min, merged.max, merged.cb);
    }

    fn variables(&mut self, variables: &VariableDeclaration<'_>, prefix: &str) {
        for variable in &variables.declarations {
            let Some(id) = variable.id.get_binding_identifier() else { continue };
            let ty = variable.type_annotation.as_ref().map(|ty| &ty.type_annotation);
            let row = self.row(join(prefix, &id.name), Kind::Const);
            row.t = ty.and_then(|ty| type_text::text(ty, TypeNames::default()));
        }
    }

    fn enumeration(&mut self, names: &TSEnumDeclaration<'_>, prefix: &str) {
        let row = self.row(join(prefix, &names.id.name), Kind::Enum);
        for member in &names.body.members {
            let mut new = property(None);
            new.st = true;
            row.members.insert(member.id.static_name().to_string(), new);
        }
    }

    /// The row at `path`, of the stronger of both kinds where it was there.
    fn row(&mut self, path: String, kind: Kind) -> &mut Row {
        let row = self.rows.entry(path.clone()).or_insert_with(|| Row::new(path, kind));
        if strength(kind) > strength(row.kind) {
            row.kind = kind;
        }
        row.open |= is_open(&row.path);
        row
    }
}

impl Signature<'_, '_> {
    fn member(&self, k: MemberKind, of_class: &[String]) -> Member {
        let of_method: Vec<MethodType> = type_text::declared(self.type_parameters)
            .into_iter()
            .map(|name| MethodType { argument: self.argument_of(&name), name })
            .collect();
        let names = TypeNames { of_class, of_method: &of_method };
        let items = &self.params.items;
        let required = items.iter().take_while(|one| !one.optional && one.initializer.is_none());
        let cb = items.iter().enumerate().filter_map(|(at, param)| {
            let ty = param.type_annotation.as_ref()?;
            Some((u8::try_from(at).ok()?, type_text::text(&ty.type_annotation, names)?))
        });
        Member {
            k,
            t: self.returns.and_then(|ty| type_text::text(&ty.type_annotation, names)),
            st: false,
            min: u8::try_from(required.count()).unwrap_or(u8::MAX),
            max: if self.params.rest.is_some() { None } else { u8::try_from(items.len()).ok() },
            cb: cb.collect(),
        }
    }

    /// The first parameter whose type is the type parameter `name`.
    fn argument_of(&self, name: &str) -> Option<usize> {
        self.params.items.iter().position(|param| {
            param.type_annotation.as_ref().is_some_and(|ty| {
                matches!(&ty.type_annotation, TSType::TSTypeReference(reference)
                    if type_text::path(&reference.type_name).as_deref() == Some(name))
            })
        })
    }
}

fn strength(kind: Kind) -> u8 {
    match kind {
        Kind::Typedef => 0,
        Kind::Interface => 1,
        Kind::Namespace => 2,
        Kind::Const => 3,
        Kind::Function => 4,
        Kind::Enum => 5,
        Kind::Class => 6,
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

fn expression_path(expression: &oxc_ast::ast::Expression<'_>) -> Option<String> {
    match expression {
        oxc_ast::ast::Expression::Identifier(name) => Some(name.name.to_string()),
        oxc_ast::ast::Expression::StaticMemberExpression(member) => {
            Some(format!("{}.{}", expression_path(&member.object)?, member.property.name))
        }
        _ => None,
    }
}

fn property(t: Option<String>) -> Member {
    Member { k: MemberKind::Property, t, st: false, min: 0, max: None, cb: BTreeMap::new() }
}

fn of_row(row: &Row) -> Member {
    let (t, cb) = (row.t.clone(), row.cb.clone());
    Member { k: MemberKind::Method, t, st: false, min: row.min, max: row.max, cb }
}

/// One member for two overloads: types that differ are dropped.
fn overload(one: Member, other: &Member) -> Member {
    let max = one.max.zip(other.max).map(|(a, b)| a.max(b));
    let cb = one.cb.into_iter().filter(|(at, ty)| other.cb.get(at) == Some(ty)).collect();
    let t = one.t.filter(|t| other.t.as_ref() == Some(t));
    Member { k: one.k, t, st: one.st, min: one.min.min(other.min), max, cb }
}

fn insert(row: &mut Row, name: String, new: Member) {
    let merged = match row.members.remove(&name) {
        Some(old) if old.k == new.k && old.k == MemberKind::Method => overload(old, &new),
        _ => new,
    };
    row.members.insert(name, merged);
}

fn class_element(row: &mut Row, element: &ClassElement<'_>, own: &[String]) {
    match element {
        ClassElement::MethodDefinition(method) => {
            let Some(name) = method.key.static_name() else { return };
            let signature = Signature {
                type_parameters: method.value.type_parameters.as_deref(),
                params: &method.value.params,
                returns: method.value.return_type.as_deref(),
            };
            let mut new = match method.kind {
                MethodDefinitionKind::Get | MethodDefinitionKind::Set => {
                    property(signature.member(MemberKind::Property, own).t)
                }
                _ => signature.member(MemberKind::Method, own),
            };
            new.st = method.r#static;
            insert(row, name.into_owned(), new);
        }
        ClassElement::PropertyDefinition(field) => {
            let Some(name) = field.key.static_name() else { return };
            let names = TypeNames { of_class: own, of_method: &[] };
            let ty = field.type_annotation.as_ref();
            let mut new = property(ty.and_then(|ty| type_text::text(&ty.type_annotation, names)));
            new.st = field.r#static;
            insert(row, name.into_owned(), new);
        }
        ClassElement::TSIndexSignature(_) => row.open = true,
        _ => {}
    }
}

fn object_member(row: &mut Row, signature: &TSSignature<'_>, own: &[String]) {
    match signature {
        TSSignature::TSPropertySignature(field) => {
            let Some(name) = field.key.static_name() else { return };
            let names = TypeNames { of_class: own, of_method: &[] };
            let ty = field.type_annotation.as_ref();
            let t = ty.and_then(|ty| type_text::text(&ty.type_annotation, names));
            insert(row, name.into_owned(), property(t));
        }
        TSSignature::TSMethodSignature(method) => {
            let Some(name) = method.key.static_name() else { return };
            let signature = Signature {
                type_parameters: method.type_parameters.as_deref(),
                params: &method.params,
                returns: method.return_type.as_deref(),
            };
            insert(row, name.into_owned(), signature.member(MemberKind::Method, own));
        }
        _ => row.open = true,
    }
}

fn alias_type(row: &mut Row, ty: &TSType<'_>, own: &[String]) {
    match ty {
        TSType::TSTypeLiteral(object) => {
            row.open |= !is_closed_object(&row.path);
            for signature in &object.members {
                object_member(row, signature, own);
            }
        }
        TSType::TSIntersectionType(both) => {
            for part in &both.types {
                match part {
                    TSType::TSTypeReference(reference) => {
                        row.ext.extend(type_text::path(&reference.type_name));
                    }
                    TSType::TSTypeLiteral(object) => {
                        for signature in &object.members {
                            object_member(row, signature, own);
                        }
                    }
                    _ => row.open = true,
                }
            }
        }
        other => row.t = type_text::text(other, TypeNames { of_class: own, of_method: &[] }),
    }
}
