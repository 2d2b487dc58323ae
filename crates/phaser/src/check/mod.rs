//! The static check of one program against an index.
//!
//! A finding says that a name surely does not exist: where the type of a value is not known, nothing is
//! said. Types come from `this` in scenes and other classes, from what factories and other methods return,
//! from variables, fields and parameters of callbacks. Members that the program itself assigns anywhere, on
//! whatever object, are allowed everywhere.

mod calls;
mod collect;
mod facts;
mod findings;
mod infer;
mod lifecycle;
mod lookup;
mod names;
mod nearest;
mod parameters;
mod place;
mod scenes;
mod syntax;
mod this_value;
mod uses;
mod value;
mod whitelist;

use whetstone_core::stack::BigStack;

use crate::index::Index;
pub use findings::{
    ApiFindings, FewArguments, Findings, Lifecycle, MAX_FINDINGS, MAX_TEXT_CHARS, ParseError,
    ParseFindings, ParseMode, UnknownName,
};
pub use syntax::MAX_SOURCE_BYTES;

/// Version of the check, for keys of caches: it changes whenever the findings of some program do.
pub const VALIDATOR_VERSION: u32 = 1;

/// Checks one program.
pub fn check(source: &str, index: &Index, _stack: &BigStack) -> Findings {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let (parse, rest) = syntax::parse(source, |semantic| {
        let facts = collect::collect(semantic);
        let mut inference = infer::Inference::new(semantic, index, facts);
        let api = uses::uses(&mut inference, &place::Places::new(source));
        (api, lifecycle::lifecycle(&mut inference))
    });
    let (api, lifecycle) = rest.unwrap_or_default();
    Findings { parse, api, lifecycle }
}
