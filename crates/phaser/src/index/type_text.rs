//! From a TypeScript type to the text of an index.
//!
//! `None` is a type of which the check can say nothing: primitives, `any`, types of a browser. `null` and
//! `undefined` vanish from unions; a union with a part that is `None` is `None`.

use oxc_ast::ast::{FormalParameters, TSType, TSTypeName, TSTypeParameterDeclaration};

/// Longest text of a type; beyond it the type is left out.
pub(super) const MAX_TYPE_CHARS: usize = 2048;

/// Names of type parameters in scope, and the position of the parameter whose type is one of them.
#[derive(Clone, Copy, Default)]
pub(super) struct TypeNames<'n> {
    /// Type parameters of the class or typedef: written `$0`, `$1`.
    pub(super) of_class: &'n [String],
    /// Type parameters of the method, each with the argument whose type it is: written `@0`.
    pub(super) of_method: &'n [MethodType],
}

/// A type parameter of a method.
pub(super) struct MethodType {
    /// Its name.
    pub(super) name: String,
    /// The first parameter that has it as its type.
    pub(super) argument: Option<usize>,
}

/// The text of `ty`, if anything can be said of it.
pub(super) fn text(ty: &TSType<'_>, names: TypeNames<'_>) -> Option<String> {
    Some(write(ty, names, 0)?).filter(|text| !text.is_empty() && text.len() <= MAX_TYPE_CHARS)
}

/// Names of declared type parameters.
pub(super) fn declared(declared: Option<&TSTypeParameterDeclaration<'_>>) -> Vec<String> {
    declared.map_or_else(Vec::new, |list| {
        list.params.iter().map(|one| one.name.name.to_string()).collect()
    })
}

/// The path that a type's name spells.
pub(super) fn path(name: &TSTypeName<'_>) -> Option<String> {
    match name {
        TSTypeName::IdentifierReference(name) => Some(name.name.to_string()),
        TSTypeName::QualifiedName(both) => {
            Some(format!("{}.{}", path(&both.left)?, both.right.name))
        }
        TSTypeName::ThisExpression(_) => None,
    }
}

/// The text of a function type: types of its parameters in brackets.
pub(super) fn function(
    params: &FormalParameters<'_>,
    names: TypeNames<'_>,
    depth: usize,
) -> String {
    let one = |param: &oxc_ast::ast::FormalParameter<'_>| {
        let ty = param.type_annotation.as_ref();
        ty.and_then(|ty| write(&ty.type_annotation, names, depth + 1))
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| "?".to_owned())
    };
    let texts: Vec<String> = params.items.iter().map(one).collect();
    format!("({})", texts.join(","))
}

fn write(ty: &TSType<'_>, names: TypeNames<'_>, depth: usize) -> Option<String> {
    if depth > 12 {
        return None;
    }
    match ty {
        TSType::TSThisType(_) => Some("this".to_owned()),
        TSType::TSNullKeyword(_) | TSType::TSUndefinedKeyword(_) => Some(String::new()),
        TSType::TSParenthesizedType(inner) => write(&inner.type_annotation, names, depth + 1),
        TSType::TSArrayType(list) => {
            let element = write(&list.element_type, names, depth + 1)?;
            (!element.is_empty()).then(|| format!("{}[]", bracketed(&element)))
        }
        TSType::TSFunctionType(function_type) => {
            Some(function(&function_type.params, names, depth))
        }
        TSType::TSUnionType(union) => joined(&union.types, '|', names, depth),
        TSType::TSIntersectionType(both) => joined(&both.types, '&', names, depth),
        TSType::TSTypeQuery(query) => {
            Some(format!("typeof {}", path(query.expr_name.as_ts_type_name()?)?))
        }
        TSType::TSTypeReference(reference) => {
            let name = path(&reference.type_name)?;
            let mut arguments = Vec::new();
            for argument in reference.type_arguments.iter().flat_map(|list| &list.params) {
                let text = write(argument, names, depth + 1).filter(|text| !text.is_empty());
                arguments.push(text.unwrap_or_else(|| "?".to_owned()));
            }
            named(name, &arguments, names)
        }
        _ => None,
    }
}

fn named(name: String, arguments: &[String], names: TypeNames<'_>) -> Option<String> {
    if let Some(own) = names.of_method.iter().find(|own| own.name == name) {
        return own.argument.map(|argument| format!("@{argument}"));
    }
    if let Some(position) = names.of_class.iter().position(|own| *own == name) {
        return Some(format!("${position}"));
    }
    if name == "Array" {
        return arguments
            .first()
            .filter(|one| *one != "?")
            .map(|one| format!("{}[]", bracketed(one)));
    }
    if arguments.iter().all(|argument| argument == "?") {
        return Some(name);
    }
    Some(format!("{name}<{}>", arguments.join(",")))
}

fn joined(types: &[TSType<'_>], sign: char, names: TypeNames<'_>, depth: usize) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for ty in types {
        let text = write(ty, names, depth + 1)?;
        if !text.is_empty() && !parts.contains(&text) {
            parts.push(text);
        }
    }
    let texts: Vec<String> = parts
        .iter()
        .map(|part| if parts.len() > 1 { bracketed(part) } else { part.clone() })
        .collect();
    Some(texts.join(&sign.to_string()))
}

/// Brackets around what would read differently beside another operator; a function is written `(..)`, so a
/// group is written `{..}`.
fn bracketed(text: &str) -> String {
    if text.contains(['|', '&']) || text.starts_with("typeof") {
        format!("{{{text}}}")
    } else {
        text.to_owned()
    }
}
