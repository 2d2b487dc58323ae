//! Parsing: as a module, then as a script, each with its early errors.

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::{LabeledSpan, SourceType};

use super::findings::{MAX_FINDINGS, ParseError, ParseFindings, ParseMode, shorten};
use super::place::Places;
use whetstone_core::nesting;

/// The longest program that is read; together with the limit of nesting it bounds the time and the stack
/// that the parser takes.
pub const MAX_SOURCE_BYTES: usize = 64 << 10;

/// Reads a program, and if it parses hands it to `work`.
pub(super) fn parse<T>(
    source: &str,
    work: impl FnOnce(&Semantic<'_>) -> T,
) -> (ParseFindings, Option<T>) {
    let places = Places::new(source);
    if let Some(message) = refusal(source) {
        let errors = vec![ParseError { line: 1, column: 1, message }];
        return (ParseFindings { ok: false, mode: ParseMode::Module, errors }, None);
    }
    let mut work = Some(work);
    let mut attempt = |mode: ParseMode| {
        let arena = Allocator::default();
        let goal = match mode {
            ParseMode::Module => SourceType::mjs(),
            ParseMode::Script => SourceType::script(),
        };
        let options = ParseOptions { preserve_parens: false, ..ParseOptions::default() };
        let parsed = Parser::new(&arena, source, goal).with_options(options).parse();
        let mut problems = Vec::new();
        for problem in parsed.diagnostics.iter().take(MAX_FINDINGS) {
            let offset = problem.labels.first().map_or(0, LabeledSpan::offset);
            problems.push(Problem { offset, message: problem.message.to_string() });
        }
        if parsed.panicked || !problems.is_empty() {
            return Err(errors(&problems, &places));
        }
        let program: &Program<'_> = arena.alloc(parsed.program);
        let built = SemanticBuilder::new()
            .with_build_nodes(true)
            .with_check_syntax_error(true)
            .build(program);
        for problem in built.diagnostics.iter().take(MAX_FINDINGS) {
            let offset = problem.labels.first().map_or(0, LabeledSpan::offset);
            problems.push(Problem { offset, message: problem.message.to_string() });
        }
        if !problems.is_empty() {
            return Err(errors(&problems, &places));
        }
        Ok(work.take().map(|work| work(&built.semantic)))
    };
    let as_module = attempt(ParseMode::Module);
    let as_script = if as_module.is_err() { Some(attempt(ParseMode::Script)) } else { None };
    match (as_module, as_script) {
        (Ok(done), _) => (accepted(ParseMode::Module), done),
        (_, Some(Ok(done))) => (accepted(ParseMode::Script), done),
        (Err(errors), _) => (ParseFindings { ok: false, mode: ParseMode::Module, errors }, None),
    }
}

fn accepted(mode: ParseMode) -> ParseFindings {
    ParseFindings { ok: true, mode, errors: Vec::new() }
}

fn refusal(source: &str) -> Option<String> {
    if source.len() > MAX_SOURCE_BYTES {
        return Some(format!("{} bytes are more than {MAX_SOURCE_BYTES}", source.len()));
    }
    nesting::is_too_deep(source)
        .then(|| format!("nested more than {} levels deep", nesting::MAX_DEPTH))
}

/// A diagnostic of the parser or of the check of early errors.
struct Problem {
    offset: u32,
    message: String,
}

fn errors(problems: &[Problem], places: &Places<'_>) -> Vec<ParseError> {
    let one = |problem: &Problem| {
        let place = places.of(problem.offset);
        let message = shorten(&problem.message);
        ParseError { line: place.line, column: place.column, message }
    };
    problems.iter().take(MAX_FINDINGS).map(one).collect()
}
